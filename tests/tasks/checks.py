"""Checks of programs given as text, and what is looked at in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import Check, CheckOptions, Finding
from gradcli.tasks.programs import parse_program

SAMPLES = sorted((Path(__file__).parent.parent.parent / "samples").rglob("*.tg"))
QUICK = ("forward", "complex", "differences", "taylor")
AGREED = dict.fromkeys(QUICK, "agree")
WRONG = "fn square(x) { return x**2 } backward (dy) { return dy * 3 * x }\n"


def run(text: str, inputs: dict[str, Any] | None = None, **options: Any) -> Check:
    options.setdefault("methods", QUICK)
    return check(parse_program(Source("<test>", text)), inputs or {}, CheckOptions(**options))


def verdicts(found: Check, variable: str = "x", order: int = 1) -> dict[str, str]:
    return {
        f.method: f.verdict for f in found.findings if f.variable == variable and f.order == order
    }


def finding(found: Check, method: str, variable: str = "x") -> Finding:
    return next(f for f in found.findings if f.method == method and f.variable == variable)
