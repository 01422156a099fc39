"""`eval --closed-form`: the closed forms beside the numbers of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..diagnostics import Diagnostic, GradcliError
from ..lang import program
from .evaluation import Evaluation, Options
from .simplifying import Simplifier

_SAID = ("W202", "W205", "W206", "W207")  # by the evaluation itself


def add_closed_forms(
    evaluation: Evaluation, node: program.Program, inputs: Mapping[str, Any], options: Options
) -> None:
    """Fills in the closed forms, simplified for at most `options.closed_form` seconds. An output
    that has none is left out, and a warning says why: its numbers are there all the same."""
    with Simplifier() as simplifier:
        from . import symbolic  # whose imports go on beside those of the other process

        try:
            found = symbolic.closed_forms(node, inputs, options, 1 if options.grad else 0)
        except GradcliError as error:
            evaluation.diagnostics += map(_warning, error.diagnostics)
            return
        found.idle.clear()  # what has a number has a form, if only 0
        symbolic.simplify(found, simplifier, options.closed_form)
        answer = symbolic.written(found, "text")
    evaluation.diagnostics += [_warning(d) for d in answer.diagnostics if d.code not in _SAID]
    for of, value in answer.values.items():
        rows = {by[0]: form for by, form in answer.derivatives.get(of, {}).items()}
        missing = {by: None for by, g in evaluation.gradients.get(of, {}).items() if g is None}
        evaluation.closed_forms[of] = {"value": value, "gradients": {**rows, **missing}}


def _warning(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.severity != "error":
        return diagnostic
    return replace(diagnostic, code="W343", message=f"no closed form: {diagnostic.message}")
