"""The points at which peers test their own derivatives, with the answers: JAX's special values of
its lax functions (tests/lax_autodiff_test.py), and PyTorch's norms and powers at zero
(test/test_autograd.py)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ..engine.programs import value

PI = math.pi
JAX = [  # function, point, first and second derivative there
    ("sinh", 0.0, 1.0, 0.0),
    ("cosh", 0.0, 0.0, 1.0),
    ("tanh", 0.0, 1.0, 0.0),
    ("tanh", 1000.0, 0.0, 0.0),
    ("sin", 0.0, 1.0, 0.0),
    ("sin", PI, -1.0, 0.0),
    ("sin", PI / 2, 0.0, -1.0),
    ("sin", PI / 4, math.sqrt(0.5), -math.sqrt(0.5)),
    ("cos", 0.0, 0.0, -1.0),
    ("cos", PI, 0.0, 1.0),
    ("cos", PI / 2, -1.0, 0.0),
    ("cos", PI / 4, -math.sqrt(0.5), -math.sqrt(0.5)),
    ("tan", 0.0, 1.0, 0.0),
    ("asin", 0.0, 1.0, 0.0),
    ("acos", 0.0, -1.0, 0.0),
    ("atan", 0.0, 1.0, 0.0),
    ("atan", 1000.0, 1 / 1000001, -2000 / 1000001**2),
    ("erf", 0.0, 2 / math.sqrt(PI), 0.0),
    ("erf", 10.0, 2 / math.sqrt(PI) * math.exp(-100.0), -40 / math.sqrt(PI) * math.exp(-100.0)),
    ("erfc", 0.0, -2 / math.sqrt(PI), 0.0),
    ("erfc", 10.0, -2 / math.sqrt(PI) * math.exp(-100.0), 40 / math.sqrt(PI) * math.exp(-100.0)),
]
ZEROS = [  # functions of zeros of a shape whose gradient is 0 there
    ("norm(x)", (10,)),
    ("norm(x)", (10, 10)),
    ("norm(x, 3)", (10,)),
    ("norm(x, 1)", (10,)),
    ("norm(x, 1.5)", (10,)),
    ("sum(x**zeros(10))", (10,)),
    ("sum(x**zeros([10, 10]))", (10, 10)),
    ("sum(x**0)", (10,)),
]


@pytest.mark.parametrize(("function", "at", "first", "second"), JAX)
def test_special_values(function: str, at: float, first: float, second: float) -> None:
    for mode in ("grad({})({})", "jvp({})({}, 1.0)"):
        assert value(f"y = {mode.format(function, at)}") == pytest.approx(
            first, rel=1e-14, abs=1.3e-16
        )
    for mode in (
        "grad(grad({}))({})",
        "jvp(grad({}))({}, 1.0)",
        "grad(fn(x) = jvp({})(x, 1.0))({})",
    ):
        assert value(f"y = {mode.format(function, at)}") == pytest.approx(
            second, rel=1e-14, abs=1.3e-16
        )


@pytest.mark.parametrize(("body", "shape"), ZEROS)
def test_zeros(body: str, shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(
        value(f"y = grad(fn(x) = {body})(zeros({list(shape)}))"), np.zeros(shape)
    )
    assert value(f"y = jvp(fn(x) = {body})(zeros({list(shape)}), ones({list(shape)}))") == 0.0
