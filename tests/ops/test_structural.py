"""Every structural rule of the table against central differences, first and second order."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.ops import OPS

from .structural_cases import APART, CASES, IDS
from .sweeps import differences, gradient, second, value, weighed_gradient


def test_every_structural_rule_has_a_case() -> None:
    differentiable = {
        op.name
        for op in OPS.values()
        if op.compute and op.differentiable and (op.vjp or op.accumulate)
    }
    assert differentiable - APART == set(CASES)


@pytest.mark.parametrize(("name", "k"), IDS)
def test_gradient_agrees_with_differences(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    expected = differences(lambda *v: value(function, *v), *values)
    for got, want, v in zip(gradient(function, *values), expected, values, strict=True):
        assert np.shape(got) == np.shape(v)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("name", "k"), IDS)
def test_second_derivative_agrees_with_differences_of_the_first(name: str, k: int) -> None:
    function, *values = CASES[name][k]
    expected = differences(lambda *v: weighed_gradient(function, *v), *values)
    for got, want in zip(second(function, *values), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
