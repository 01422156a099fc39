"""Checks at random points, watched: which of these are checked together."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.diagnostics import Source
from gradcli.tasks.check import points
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.paths import Paths
from gradcli.tasks.check.results import Check, CheckOptions, Finding
from gradcli.tasks.programs import parse_program

N = 12


def parsed(text: str) -> Any:
    return parse_program(Source("<test>", text))


def verdicts(found: Check) -> list[tuple[Any, ...]]:
    return [(f.point, f.output, f.variable, f.method, f.verdict, f.reason) for f in found.findings]


def found_at_points(
    text: str, monkeypatch: pytest.MonkeyPatch, apart: bool = False, **options: Any
) -> tuple[Check, list[str]]:
    """The check of a program at random points, and how each of these was checked: "together" with
    others, "first" on a path, or "apart". With `apart` each is checked as if it were the only
    one."""
    how: list[str] = []
    original = Paths.findings

    def watched(paths: Paths, k: int) -> list[Finding] | None:
        findings = original(paths, k)
        is_first = paths.leader(k) is None
        how.append("first" if is_first else "apart" if findings is None else "together")
        return findings

    monkeypatch.setattr(Paths, "findings", watched)
    if apart:
        monkeypatch.setattr(points, "MUCH", 0)  # no run has room for two
    found = check(parsed(text), {}, CheckOptions(**{"points": N, **options}))
    monkeypatch.undo()
    return found, how


def are_together(how: list[str]) -> bool:
    return "together" in how and "apart" not in how
