"""`check --format sarif`: SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import __version__
from .checks import label, problems
from .style import Style

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic, Span
    from ..tasks.check.results import Check

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_RULES = {
    "E601": "An expectation failed.",
    "E602": "A gradient is wrong.",
    "E603": "A gradient isn't what was given.",
    "E604": "Whether a gradient is right can't be told.",
    "E610": "What is to be compared isn't finite.",
    "E611": "Nothing was verified.",
    "E612": "The program fails at a random point.",
    "kink": "A derivative jumps.",
}


def render(checks: Sequence[Check], style: Style) -> str:
    results = [result for check in checks for result in _results(check)]
    rules = sorted({result["ruleId"] for result in results} | set(_RULES))
    driver = {
        "name": "gradcli",
        "version": __version__,
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": _RULES.get(rule, f"`gradcli explain {rule}` tells.")},
            }
            for rule in rules
        ],
    }
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def _results(check: Check) -> Iterator[dict[str, Any]]:
    for problem in problems(check):
        text = ". ".join(part for part in (problem.message, problem.label, problem.help) if part)
        level = "warning" if problem.severity == "warning" else "error"
        result = {
            "ruleId": problem.code,
            "level": level,
            "message": {"text": text},
            "locations": [_location(check, problem)],
        }
        if problem.calls:
            result["relatedLocations"] = [
                {"message": {"text": f"in `{call.function}`"}, **_place(call.span)}
                for call in problem.calls
            ]
        yield result
    for kink in check.kinks:
        text = (
            f"{label(kink.output, kink.variable)} is {kink.left:.6g} to the left and "
            f"{kink.right:.6g} to the right"
        )
        yield {
            "ruleId": "kink",
            "level": "note",
            "message": {"text": text},
            "locations": [_place(kink.span)],
        }


def _location(check: Check, problem: Diagnostic) -> dict[str, Any]:
    if problem.span is None:
        return {"physicalLocation": {"artifactLocation": {"uri": quote(check.file)}}}
    return _place(problem.span)


def _place(span: Span) -> dict[str, Any]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    region = {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(span.source.name)}, "region": region}
    }
