"""Closed forms of programs given as text, and their comparison with numbers."""

from __future__ import annotations

from typing import Any

from gradcli.diagnostics import Source
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program
from gradcli.tasks.symbolic import ClosedForms, closed_forms


def read(text: str, order: int = 1, **options: Any) -> ClosedForms:
    return closed_forms(parse_program(Source("<expr>", text)), {}, Options(**options), order)


def close(found: Any, expected: float) -> bool:
    return abs(complex(found) - expected) <= 1e-11 * max(abs(expected), 1e-3)
