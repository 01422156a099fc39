"""Gradients that other code computed, checked by `--against`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import CheckOptions, Finding
from gradcli.tasks.programs import parse_program

PROGRAM = parse_program(
    Source("model.tg", "var x = [1.0, 2.0]\nvar k = 3.0\nf = k * sum(x**3)\noutput f")
)
TWO = parse_program(Source("two.tg", "var x = 2.0\noutput f = x**2\noutput g = x**3"))


def findings(path: Path, program: Any = PROGRAM, **options: Any) -> dict[str, Finding]:
    found = check(program, {}, CheckOptions(methods=("complex",), against=str(path), **options))
    return {
        f"{f.output}/{f.variable}".removesuffix("/"): f
        for f in found.findings
        if f.method == "against"
    }


def verdicts(found: dict[str, Finding]) -> dict[str, str]:
    return {name: f.verdict for name, f in found.items()}


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


RIGHT = {"f/x": "agree", "f/k": "agree"}
