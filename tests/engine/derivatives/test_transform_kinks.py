"""Where derivatives don't exist, or exist by convention: the same in every mode, to second
order."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ..programs import value

INF = math.inf
KINKS = [  # the function, the point, the first and the second derivative there
    ("abs(x)", 0.0, 0.0, 0.0),
    ("abs(x) * x", 0.0, 0.0, 0.0),
    ("relu(x)", 0.0, 0.0, 0.0),
    ("leaky_relu(x)", 0.0, 0.01, 0.0),
    ("maximum(x, 0.0)", 0.0, 0.5, 0.0),
    ("maximum(x, 0.0)**2", 0.0, 0.0, 0.5),  # 2 · ½ · ½
    ("max([x, 0.0, -1.0])**2", 0.0, 0.0, 0.5),
    ("median([x, 0.0, 0.0])", 0.0, 1 / 3, 0.0),
    ("clip(x, 0.0, 1.0)**2", 1.0, 2.0, 2.0),
    ("clip(x, 0.0, 1.0) * x", 0.0, 0.0, 2.0),
    ("floor(x) * x", 1.0, 1.0, 0.0),
    ("round(x) * x", 0.5, 0.0, 0.0),
    ("sign(x) * x", 0.0, 0.0, 0.0),
    ("hypot(x, 0.0)", 0.0, 0.0, 0.0),
    ("hypot(x, x)", 0.0, 0.0, 0.0),
    ("atan2(x, x)", 0.0, 0.0, 0.0),
    ("norm([x, x])", 0.0, 0.0, 0.0),
    ("std([x, 0.0])", 0.0, 0.0, 0.0),
    ("sinc(x)", 0.0, 0.0, -(math.pi**2) / 3),
    ("x**0", 0.0, 0.0, 0.0),
    ("x**1", 0.0, 1.0, 0.0),
    ("x**2.0", 0.0, 0.0, 2.0),
    ("prod([x, x, x])", 0.0, 0.0, 0.0),
    ("sum(cumprod([x, x, x]))", 0.0, 1.0, 2.0),
    ("elu(x)", 0.0, 1.0, 1.0),
    ("gelu(x)", 0.0, 0.5, math.sqrt(2 / math.pi)),
    ("sqrt(x)", 0.0, INF, -INF),
    ("x**0.5", 0.0, INF, -INF),
    ("where(x > 0, sqrt(x), 0.0)", 0.0, 0.0, 0.0),
    ("where(x > 0, sqrt(x), 0.0)", -1.0, 0.0, 0.0),
    ("where(x > 0, 1 / x, x**2)", 0.0, 0.0, 2.0),
    ("where(x > 0, x * log(x), 0.0)", 0.0, 0.0, 0.0),
    ("sum(where([x, 4.0] > 0, sqrt([x, 4.0]), 0.0))", 0.0, 0.0, 0.0),
    ("sqrt(0.0 * x)", 1.0, 0.0, 0.0),  # what doesn't move has no part in it, be the slope infinite
    ("sqrt(x**2)", 0.0, 0.0, 0.0),
    ("sqrt(maximum(x, 0.0))", -1.0, 0.0, 0.0),
    ("log(relu(x))", -1.0, 0.0, 0.0),
    ("exp(-1 / x**2)", 0.0, 0.0, 0.0),
    ("sum(sqrt([x, 4.0] * [0.0, 1.0]))", 1.0, 0.0, 0.0),
    ("x * log(x)", 0.0, -INF, INF),
    ("gammainc(3.0, x)", 0.0, 0.0, 0.0),
    ("gammainc(2.0, x)", 0.0, 0.0, 1.0),
    ("gammainc(1.0, x)", 0.0, 1.0, -1.0),
    ("gammainc(1.5, x)", 0.0, 0.0, INF),
    ("gammainc(x, 0.0)", 2.5, 0.0, 0.0),
    ("betainc(3.0, 2.5, x)", 0.0, 0.0, 0.0),
    ("betainc(2.0, 3.0, x)", 0.0, 0.0, 12.0),
    ("betainc(1.0, 3.0, x)", 0.0, 3.0, -6.0),
    ("betainc(1.5, 3.0, x)", 0.0, 0.0, INF),
    ("betainc(3.0, 2.0, x)", 1.0, 0.0, -12.0),
    ("betainc(3.0, 1.0, x)", 1.0, 3.0, 6.0),
    ("betainc(x, 2.0, 0.0)", 2.5, 0.0, 0.0),
    ("betainc(2.0, x, 1.0)", 2.5, 0.0, 0.0),
]
MODES = {"reverse": "grad(fn(x) = {})(x)", "forward": "jvp(fn(x) = {})(x, 1.0)"}


@pytest.mark.parametrize(("body", "x", "first", "second"), KINKS)
@pytest.mark.parametrize(
    "ask", ["", "fn unused(y, x) = grad(y, x)\n"], ids=["by duals", "over the trace"]
)
def test_kinks(body: str, x: float, first: float, second: float, ask: str) -> None:
    for mode in MODES.values():
        assert value(f"{ask}x = {x}\nd = {mode.format(body)}\noutput d") == first
    for outer, inner in itertools.product(MODES.values(), repeat=2):
        found = value(f"{ask}x = {x}\nd = {outer.format(inner.format(body))}\noutput d")
        assert found == pytest.approx(second, rel=1e-14), (outer, inner)


@pytest.mark.parametrize(("body", "x", "first", "second"), KINKS)
def test_the_forms_of_values(body: str, x: float, first: float, second: float) -> None:
    source = f'var x = {x}\ny = {body}\noutput d = [grad(y, x), jvp(y, x, 1.0), jacobian(y, x, mode = "forward")]'
    assert value(source) == [first] * 3
    source = f'var x = {x}\ny = {body}\noutput d = [hessian(y, x), hessian(y, x, mode = "forward"), hvp(y, x, 1.0)]'
    assert value(source) == pytest.approx([second] * 3, rel=1e-14)
    source = f'fn f(x) = {body}\nx = {x}\noutput d = [hessian(f)(x), hessian(f, mode = "forward")(x), hvp(f)(x, 1.0)]'
    assert value(source) == pytest.approx([second] * 3, rel=1e-14)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("jvp(sqrt)(0.0, 0.0)", 0.0),  # what doesn't move has no part in it, be the slope infinite
        ("vjp(sqrt)(0.0, 0.0)", 0.0),
        ("hvp(sqrt)(0.0, 0.0)", 0.0),
        ("jvp(fn(x) = sum(sqrt(x)))([0.0, 4.0], [0.0, 1.0])", 0.25),
        ("vjp(sqrt)(array([0.0, 4.0]), [0.0, 1.0])", [0.0, 0.25]),
        ("jacobian(sqrt)([0.0, 4.0])", [[INF, 0.0], [0.0, 0.25]]),
        ('jacobian(sqrt, mode = "forward")([0.0, 4.0])', [[INF, 0.0], [0.0, 0.25]]),
        ("jvp(fn(x) = 1 / x)(0.0, 0.0)", 0.0),
        ("jvp(log)(0.0, 1.0)", INF),
    ],
)
def test_zero_times_infinity(call: str, expected: object) -> None:
    np.testing.assert_array_equal(value(f"d = {call}\noutput d"), expected)
