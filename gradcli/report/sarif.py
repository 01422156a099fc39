"""SARIF 2.1.0, which code hosts and editors read: a log of results, a result a diagnostic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import __version__

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic, Span

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def log_of(results: Sequence[dict[str, Any]], rules: Mapping[str, str]) -> str:
    """The log; `rules` says in a sentence what each rule is about."""
    names = sorted({result["ruleId"] for result in results} | set(rules))
    driver = {
        "name": "gradcli",
        "version": __version__,
        "rules": [
            {
                "id": rule,
                "shortDescription": {"text": rules.get(rule, f"`gradcli explain {rule}` tells.")},
            }
            for rule in names
        ],
    }
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def result_of(file: str, problem: Diagnostic) -> dict[str, Any]:
    """A diagnostic about a file as a result."""
    text = ". ".join(part for part in (problem.message, problem.label, problem.help) if part)
    at: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": quote(file)}}}
    result = {
        "ruleId": problem.code,
        "level": "warning" if problem.severity == "warning" else "error",
        "message": {"text": text},
        "locations": [at if problem.span is None else place(problem.span)],
    }
    if problem.calls:
        result["relatedLocations"] = [
            {"message": {"text": call.inside}, **place(call.span)} for call in problem.calls
        ]
    return result


def place(span: Span) -> dict[str, Any]:
    """Where a span is."""
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
