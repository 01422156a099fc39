"""`check --format junit`: JUnit's XML, a test suite a file, a test case an expectation, and one a
gradient, in which each method is a line of `system-out`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..diagnostics import printable, printable_lines
from ..diagnostics import render as draw
from .checks import METHODS, found, label, problem_of
from .style import Style

if TYPE_CHECKING:
    from ..tasks.check.results import Check, Finding, Result


def render(checks: Sequence[Check], style: Style) -> str:
    root = Element("testsuites", name="gradcli check")
    for check in checks:
        _suite(root, check)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, check: Check) -> None:
    suite = SubElement(root, "testsuite", name=_valid(check.file))
    for error in [d for d in check.diagnostics if d.severity == "error"]:
        _add(
            _case(suite, check, f"{error.code} {error.message}"),
            "error",
            error.message,
            draw(error),
        )
    for expectation in check.expectations:
        case = _case(suite, check, f"expect in line {expectation.line}")
        if expectation.diagnostic:
            _add(case, "failure", expectation.message, draw(expectation.diagnostic))
    for result in check.results:
        _gradient(suite, check, result)
    if check.nothing is not None:
        _add(
            _case(suite, check, "something is verified"),
            "failure",
            check.nothing.message,
            draw(check.nothing),
        )
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))


def _gradient(suite: Element, check: Check, result: Result) -> None:
    case = _case(suite, check, label(result.output, result.variable, result.order))
    problem = problem_of(check, result)
    if problem is not None:
        _add(case, "failure", problem.message, draw(problem))
    elif result.verdict in ("undecided", "allowed"):
        _add(case, "skipped", "; ".join(result.reasons), "")
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
    return _valid(": ".join(part for part in said if part))


def _case(suite: Element, check: Check, name: str) -> Element:
    return SubElement(suite, "testcase", classname=_valid(check.file), name=_valid(name))


def _add(case: Element, tag: str, message: str, text: str) -> None:
    inner = SubElement(case, tag, message=_valid(message))
    if tag != "skipped":
        inner.set("type", tag)
    inner.text = _NEVER.sub("\ufffd", printable_lines(text)) or None


_NEVER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not even escaped


def _valid(text: str) -> str:
    """A line of text as XML can hold it."""
    return _NEVER.sub("\ufffd", printable(text))
