"""What programs answer, as text to compare."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.tasks.evaluation import Evaluation

NUMBER = re.compile(r"-?\d[\d.]*(?:e[-+]?\d+)?")


def shown(value: Any) -> Any:
    """A value as text, with all of its digits, its type and its shape."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} {value.tolist()}"
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, list) else repr(value)


def said(evaluation: Evaluation) -> str:
    """All but the numbers of an answer."""
    told = [(d.code, d.message, d.span, d.help, d.reason) for d in evaluation.diagnostics]
    parts = (evaluation.summed, evaluation.notes, evaluation.mode, evaluation.printed)
    claims = [(e.line, e.passed, e.message) for e in evaluation.expectations]
    return f"{told} {parts} {len(evaluation.timings)} {claims}"


def answers(
    program: gradcli.Program, points: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Any, str]]:
    """What is said, the outputs and the gradients at each point."""
    found = []
    for point in points:
        try:
            answer = program.run(point)
        except GradcliError as error:
            found.append((str([(d.code, d.message, d.span) for d in error.diagnostics]), None, ""))
        else:
            found.append((said(answer), shown(answer.outputs), str(shown(answer.gradients))))
    return found
