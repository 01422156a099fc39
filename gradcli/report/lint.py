"""The formats of `lint`: text, JSON, JUnit, GitHub's annotations and SARIF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

from ..diagnostics import render as draw
from .annotations import annotation
from .json import document
from .junit import add, case_of, valid
from .junit import document as junit_document
from .sarif import log_of, result_of
from .style import Style

if TYPE_CHECKING:
    from ..tidy.findings import Finding, Linted


def text(linted: Sequence[Linted], style: Style) -> str:
    drawn = [draw(d, style.color) for answer in linted for d in answer.diagnostics]
    return "\n".join([*drawn, summary(linted)]) + "\n"


def summary(linted: Sequence[Linted]) -> str:
    """The last line: `2 findings in 3 programs, 1 with a fix (--fix)`."""
    findings = [finding for answer in linted for finding in answer.findings]
    parts = [f"{_count(len(findings), 'finding')} in {_count(len(linted), 'program')}"]
    fixable = sum(finding.fix is not None for finding in findings)
    failed = sum(bool(answer.errors) for answer in linted)
    fixed = sum(answer.fixed for answer in linted)
    parts += [f"{fixable} with a fix (--fix)"] if fixable else []
    parts += [f"{fixed} fixed"] if fixed else []
    parts += [f"{_count(failed, 'program')} with errors"] if failed else []
    return ", ".join(parts)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def json(linted: Sequence[Linted], style: Style) -> str:
    return document(map(_as_object, linted))


def _as_object(answer: Linted) -> dict[str, Any]:
    errors = [{**error.as_json(), "fix": None} for error in answer.errors]
    findings = [{**f.diagnostic.as_json(), "fix": _fix(f)} for f in answer.findings]
    return {"file": answer.file, "fixed": answer.fixed, "diagnostics": errors + findings}


def _fix(finding: Finding) -> dict[str, Any] | None:
    """What to replace, from where up to, not including, where, and by what."""
    if finding.fix is None:
        return None
    source = finding.span.source
    line, column = source.position(finding.fix.start)
    end_line, end_column = source.position(finding.fix.end)
    return {
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "text": finding.fix.text,
    }


def junit(linted: Sequence[Linted], style: Style) -> str:
    root = Element("testsuites", name="gradcli lint")
    for answer in linted:
        suite = SubElement(root, "testsuite", name=valid(answer.file))
        for diagnostic in answer.diagnostics:
            at = f" in line {diagnostic.span.line}" if diagnostic.span else ""
            case = case_of(suite, answer.file, f"{diagnostic.code} {diagnostic.message}{at}")
            tag = "error" if diagnostic.severity == "error" else "failure"
            add(case, tag, diagnostic.message, draw(diagnostic))
        if not answer.diagnostics:
            case_of(suite, answer.file, "nothing is found")
    return junit_document(root)


def github(linted: Sequence[Linted], style: Style) -> str:
    lines = [annotation(answer.file, d) for answer in linted for d in answer.diagnostics]
    return "\n".join([*lines, summary(linted)]) + "\n"


def sarif(linted: Sequence[Linted], style: Style) -> str:
    return log_of([result_of(answer.file, d) for answer in linted for d in answer.diagnostics], {})


RENDERERS: dict[str, Callable[[Sequence[Linted], Style], str]] = {
    "text": text,
    "json": json,
    "junit": junit,
    "github": github,
    "sarif": sarif,
}
