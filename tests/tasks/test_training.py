"""Programs that ask for gradients of values and update variables, run again and again: kernels
answer as the interpreter does, and where it has something to say, it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import HEAT, INTERPRETED, NATIVE, WRITTEN, only

from ..engine.kernels.training_programs import HEAD, SIZED, TOLD, TRAINING, TrainingWriter
from .answers import NUMBER, answers

AT_ONCE = HEAT._replace(
    work=1, work_each=0, instructions=0, instructions_each=0, instructions_first=0
)
POINTS: list[dict[str, Any]] = [{}, {"x": 0.4, "b": 0.9}, {"x": 1.6}, {"w": [0.1, 0.7]}, {}]


def compare(source: str, points: Sequence[Mapping[str, Any]], tier: int, **options: Any) -> bool:
    """Whether there was a kernel."""
    program = gradcli.load(source=source).with_options(**options)
    with only(INTERPRETED):
        expected = answers(program, points)
    hot = program.with_options(**options)
    with only(tier, AT_ONCE):
        found = answers(hot, points)
    for a, b in zip(found, expected, strict=True):
        assert a[0] == b[0]
        texts = [str(each[1]) + each[2] for each in (a, b)]
        assert NUMBER.sub("", texts[0]) == NUMBER.sub("", texts[1])
        numbers = ([float(n) for n in NUMBER.findall(text)] for text in texts)
        np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-12)
    assert hot._hot is not None
    return hot._hot.has_kernels


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("source", TRAINING.values(), ids=TRAINING.keys())
def test_training(source: str, tier: int) -> None:
    assert compare(HEAD + source, POINTS, tier, grad=False)
    compare(HEAD + source, POINTS, tier, mode=("reverse", "auto")[tier == NATIVE])


@pytest.mark.parametrize("source", TOLD.values(), ids=TOLD.keys())
def test_the_interpreter_tells(source: str) -> None:
    compare(HEAD + source, POINTS, WRITTEN)


@pytest.mark.parametrize("source", SIZED.values(), ids=SIZED.keys())
def test_many_elements(source: str) -> None:
    points = [{"a": [0.1 * k - step for k in range(40)]} for step in (0.0, 1.5, 2.0)]
    assert compare(HEAD + source, points, NATIVE, grad=False)
    compare(HEAD + source, points, NATIVE, wrt="a")


@pytest.mark.parametrize("seed", range(30))
def test_random_training(seed: int) -> None:
    compare(TrainingWriter(seed).program(), POINTS, (WRITTEN, NATIVE)[seed % 2])
