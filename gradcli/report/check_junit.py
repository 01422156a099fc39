"""`check --format junit`: JUnit's XML, a test suite a file, a test case an expectation, and one a
gradient, in which each method is a line of `system-out`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from ..diagnostics import render as draw
from .checks import METHODS, found, label, problem_of
from .junit import add, case_of, document, valid
from .style import Style

if TYPE_CHECKING:
    from ..tasks.check.results import Check, Finding, Result


def render(checks: Sequence[Check], style: Style) -> str:
    root = Element("testsuites", name="gradcli check")
    for check in checks:
        _suite(root, check)
    return document(root)


def _suite(root: Element, check: Check) -> None:
    suite = SubElement(root, "testsuite", name=valid(check.file))
    for error in [d for d in check.diagnostics if d.severity == "error"]:
        add(
            case_of(suite, check.file, f"{error.code} {error.message}"),
            "error",
            error.message,
            draw(error),
        )
    for expectation in check.expectations:
        case = case_of(suite, check.file, f"expect in line {expectation.line}")
        if expectation.diagnostic:
            add(case, "failure", expectation.message, draw(expectation.diagnostic))
    for result in check.results:
        _gradient(suite, check, result)
    if check.nothing is not None:
        add(
            case_of(suite, check.file, "something is verified"),
            "failure",
            check.nothing.message,
            draw(check.nothing),
        )


def _gradient(suite: Element, check: Check, result: Result) -> None:
    case = case_of(suite, check.file, label(result.output, result.variable, result.order))
    problem = problem_of(check, result)
    if problem is not None:
        add(case, "failure", problem.message, draw(problem))
    elif result.verdict in ("undecided", "allowed"):
        add(case, "skipped", "; ".join(result.reasons), "")
    SubElement(case, "system-out").text = "\n".join(map(_line, result.findings))


def _line(finding: Finding) -> str:
    """What one method says."""
    at = f" at point {finding.point}" if finding.point else ""
    numbers = f"{finding.theirs:g} tested" if finding.method == "rules" else found([finding])
    said = [
        METHODS.get(finding.method, finding.method) + at,
        finding.verdict,
        finding.reason or numbers,
    ]
    return valid(": ".join(part for part in said if part))
