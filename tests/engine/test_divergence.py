"""Rows that take different paths, together: what each gives alone, and its gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from .divergent_programs import programs
from .programs import evaluate

ROWS = [-1.3, -0.6, -0.2, 0.02, 0.3, 0.65, 0.9, 1.4]
TOGETHER = """xs = array(XS)
value = vmap(f, in_axes = [0, none])(xs, 0.7)
by_row = vmap(grad(f), in_axes = [0, none])(xs, 0.7)
by_shared = grad(fn(w) = sum(vmap(f, in_axes = [0, none])(xs, w)))(0.7)
along = jvp(fn(w) = vmap(f, in_axes = [0, none])(xs, w))(0.7, 1.0)
second = vmap(grad(grad(f)), in_axes = [0, none])(xs, 0.7)
output value, by_row, by_shared, along, second
"""
ALONE = """value = []
by_row = []
along = []
second = []
by_shared = 0.0
for x in XS {
    value = append(value, f(x, 0.7))
    by_row = append(by_row, grad(f)(x, 0.7))
    along = append(along, jvp(fn(w) = f(x, w))(0.7, 1.0))
    second = append(second, grad(grad(f))(x, 0.7))
    by_shared += grad(f, wrt = 1)(x, 0.7)
}
output value, by_row, by_shared, along, second
"""


def both(functions: str, rows: list[float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs of the rows together, and of each alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = [functions + text.replace("XS", str(rows)) for text in (TOGETHER, ALONE)]
        together, alone = [evaluate(text, grad=False).outputs for text in texts]
    return together, alone


@settings(max_examples=60, deadline=None)
@given(programs)
def test_rows_together_give_what_they_give_alone(functions: str) -> None:
    together, alone = both(functions, ROWS)
    for name, value in alone.items():
        np.testing.assert_allclose(together[name], value, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("rows", [[0.3], [0.5, 0.5, 0.5]], ids=["one", "equal"])
def test_few_rows(rows: list[float]) -> None:
    together, alone = both("fn f(x, w) { if x > 0.4 { return x * w }; return x**3 + w }\n", rows)
    for name, value in alone.items():
        np.testing.assert_allclose(together[name], value, rtol=1e-14, err_msg=name)
