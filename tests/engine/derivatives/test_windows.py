"""Windows against a model of what they mean: tapes nested and side by side, paused, reset, asked
anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only

from .random_windows import window_programs
from .window_model import RefusedError, UnspecifiedError
from .window_programs import DOUBT, Meaning, Program

EXAMPLES = 300


def agree(found: Any, expected: Any, fused: bool) -> bool:
    """Whether answers are the same: none where none is, and else the same numbers in the same
    shape. The derivative of an expression that is one operation, for being hot, may be zero where
    it would be none had it been computed in steps."""
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(agree(a, b, fused) for a, b in zip(found, expected, strict=True))
        )
    if isinstance(expected, set):  # of names
        return sorted(found) == sorted(expected)
    if expected is None or expected is DOUBT:
        return found is None or ((fused or expected is DOUBT) and not np.any(found))
    return (
        not isinstance(found, list | None)
        and np.shape(found) == np.shape(expected)
        and np.allclose(found, expected, 1e-8, 1e-8)
    )


@settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(window_programs(), st.booleans(), st.sampled_from(["auto", "reverse", "forward"]))
def test_programs_mean_what_the_model_says(program: Program, fused: bool, mode: str) -> None:
    try:
        expected: Any = Meaning(program)
    except UnspecifiedError:
        reject()
    except RefusedError as error:
        expected = error
    with only(NATIVE if fused else INTERPRETED, FIRST_USE):
        ours = gradcli.load(source=program.source).with_options(of=program.targets, mode=mode)
        if isinstance(expected, RefusedError):
            with pytest.raises(GradcliError, match=expected.code):
                ours.run()
            return
        evaluation = ours.run()
    assert agree(evaluation.outputs["log"], expected.log, fused), (
        evaluation.outputs["log"],
        expected.log,
    )
    for name, gradients in expected.gradients.items():
        for source, gradient in gradients.items():
            found = evaluation.gradients[name][source]
            assert agree(found, gradient, fused), (name, source, found, gradient)
    if not fused and not expected.doubtful:
        assert bool(evaluation.diagnostics) == expected.missing, (
            "what is missing is told, and nothing else"
        )
