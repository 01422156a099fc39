"""Special functions in programs: to any order and in every mode, beyond where tables of them end,
in float32 and complex."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends.backend import CPU
from gradcli.engine.formulas.functions import array_function
from gradcli.ops import OPS
from gradcli.ops.op import Op

from ..engine.programs import failure, value
from .exact import counterpart, points
from .special_functions import MP

SPECIAL = [op for op in OPS.values() if op.category == "special" and op.name != "quantile_slope"]

THIRD = [  # function of x, point
    ("gamma(x)", 2.3),
    ("lgamma(x)", 0.7),
    ("digamma(x)", 1.9),
    ("beta(x, 2.5)", 1.2),
    ("lbeta(1.5, x)", 30.0),
    ("zeta(x, 1.5)", 2.5),
    ("zeta(2.5, x)", 2.5),
    ("gammainc(x, 2.0)", 1.5),
    ("gammainc(2.5, x)", 1.5),
    ("betainc(x, 2.0, 0.3)", 1.5),
    ("betainc(0.5, x, 0.3)", 1.5),
    ("betainc(2.5, 1.5, x)", 0.6),
    ("i0(x)", 1.7),
    ("i1(x)", 0.01),
    ("ndtr(x)", -2.0),
    ("ndtri(x)", 0.01),
    ("erfinv(x)", 0.8),
    ("logit(x)", 0.1),
    ("expit(x)", -3.0),
    ("xlogy(x, x)", 0.4),
]


@pytest.mark.parametrize(("call", "at"), THIRD)
def test_third_derivative(call: str, at: float) -> None:
    name, _, arguments = call.removesuffix(")").partition("(")

    def exact(x: Any) -> Any:
        return counterpart(OPS[name])(
            *[x if a == "x" else MP.mpf(a) for a in arguments.split(", ")]
        )

    with MP.workdps(40):
        want = float(MP.diff(exact, MP.mpf(at), 3))
    for modes in (
        "grad(grad(grad(f)))",
        "jvp(fn(x) = jvp(fn(x) = jvp(f)(x, 1.0))(x, 1.0))",
        "grad(fn(x) = hvp(f)(x, 1.0))",
    ):
        further = f"({at}, 1.0)" if modes.startswith("jvp") else f"({at})"
        found = value(f"fn f(x) = {call}; y = {modes}{further}")
        assert found == pytest.approx(want, rel=1e-10), modes


@pytest.mark.parametrize("op", SPECIAL, ids=lambda op: op.name)
def test_float32_stays_float32(op: Op) -> None:
    n = op.partials.count(None)
    for point in points(op)[:2]:
        wide = array_function(CPU, op)(*point[:n], *(np.array([x]) for x in point[n:]))
        narrow = array_function(CPU, op)(
            *point[:n], *(np.array([x], dtype="float32") for x in point[n:])
        )
        assert narrow.dtype == "float32"
        assert narrow[0] == pytest.approx(wide[0], rel=1e-4)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("gamma(5.0)", 24.0),
        ("gamma(0.0)", math.inf),
        ("gamma(-1.0)", math.nan),
        ("gamma(172.0)", math.inf),
        ("lgamma(-3.0)", math.inf),
        ("lgamma(1e308)", math.inf),
        ("zeta(1.0)", math.inf),
        ("zeta(0.0)", -0.5),
        ("zeta(-1.0)", -1 / 12),
        ("zeta(-2.0)", 0.0),
        ("zeta(2.0, -0.5)", math.nan),
        ("zeta(0.5, 2.0)", math.nan),
        ("beta(0.0, 1.0)", math.inf),
        ("betainc(2.0, 3.0, 0.0)", 0.0),
        ("betainc(2.0, 3.0, 1.0)", 1.0),
        ("gammainc(2.0, inf)", 1.0),
        ("xlogy(0.0, 0.0)", 0.0),
        ("xlogy(0.0, nan)", math.nan),
        ("logit(0.0)", -math.inf),
        ("logit(1.0)", math.inf),
        ("logit(1.5)", math.nan),
        ("ndtri(0.0)", -math.inf),
        ("erfinv(-1.0)", -math.inf),
        ("erf(inf)", 1.0),
        ("i1(1000.0)", math.inf),
    ],
)
def test_value_at_an_edge(expression: str, expected: float) -> None:
    assert value(f"y = {expression}") == pytest.approx(expected, rel=1e-15, nan_ok=True)
    name, _, arguments = expression.removesuffix(")").partition("(")
    first, _, rest = arguments.partition(", ")
    found = value(f"y = {name}(array([{first}]){', ' + rest if rest else ''})")
    assert found[0] == pytest.approx(expected, rel=1e-15, nan_ok=True)


@pytest.mark.parametrize(
    ("call", "at", "expected"),
    [
        ("erfinv(x)", 1.0, math.inf),
        ("ndtri(x)", 0.0, math.inf),
        ("logit(x)", 1.0, math.inf),
        ("lgamma(x)", 0.0, -math.inf),
        ("xlogy(x, x)", 0.0, -math.inf),
        ("xlogy(0.0, x)", 0.0, 0.0),
        ("xlogy(2.0, x)", 0.0, math.inf),
        ("gammainc(1.0, x)", 0.0, 1.0),
        ("gammainc(0.5, x)", 0.0, math.inf),
        ("gammainc(3.0, x)", 0.0, 0.0),
        ("gammainc(x, 0.0)", 2.0, 0.0),
        ("betainc(1.0, 3.0, x)", 0.0, 3.0),
        ("betainc(3.0, 1.0, x)", 1.0, 3.0),
        ("betainc(x, 3.0, 1.0)", 2.0, 0.0),
        ("i0(x)", 0.0, 0.0),
        ("i1(x)", 0.0, 0.5),
        ("where(x > 0, ndtri(x), 0.0)", 0.0, 0.0),
        ("where(x > 0, xlogy(x, x), 0.0)", 0.0, 0.0),
    ],
)
def test_derivative_at_an_edge(call: str, at: float, expected: float) -> None:
    for program in (f"y = grad(fn(x) = {call})({at})", f"y = jvp(fn(x) = {call})({at}, 1.0)"):
        assert value(program) == pytest.approx(expected, rel=1e-14, abs=0.0)
    assert value(f"y = grad(fn(x) = sum({call}))([{at}])")[0] == pytest.approx(
        expected, rel=1e-14, abs=0.0
    )


def test_the_second_derivative_by_y_where_x_is_zero() -> None:
    assert value("y = grad(fn(x) = grad(fn(y) = xlogy(x, y))(2.0))(0.0)") == 0.5


def test_far_from_where_sums_begin() -> None:
    assert value("y = grad(digamma)(-1e15 + 0.25)") == pytest.approx(2 * math.pi**2, rel=1e-13)


@pytest.mark.parametrize(
    "call", ["zeta(z)", "beta(z, 1.0)", "lbeta(2.0, z)", "gammainc(1.0, z)", "lgamma([z])", "i0(z)"]
)
def test_real_functions_refuse_complex_numbers(call: str) -> None:
    diagnostic = failure(f"z = 1.5 + 2j; y = {call}")
    assert diagnostic.code == "E301"
    assert f"`{call.partition('(')[0]}` isn't defined for" in diagnostic.message


@pytest.mark.parametrize(
    ("call", "a", "x", "expected"),
    [
        ("gammainc(a, x)", 2.5, 0.0, 0.0),
        ("gammainc(a, x)", 1.0, 0.0, -math.inf),
        ("betainc(a, 2.0, x)", 2.5, 0.0, 0.0),
        ("betainc(a, 2.0, x)", 2.5, 1.0, 0.0),
        ("betainc(3.0, a, x)", 2.5, 1.0, 0.0),
        ("betainc(1.0, a, x)", 2.5, 0.0, 1.0),  # the density at 0 is b
    ],
)
def test_the_mixed_derivative_at_an_edge(call: str, a: float, x: float, expected: float) -> None:
    for program in (
        f"grad(fn(a) = grad(fn(x) = {call})({x}))({a})",
        f"grad(fn(x) = grad(fn(a) = {call})({a}))({x})",
        f"jvp(fn(a) = jvp(fn(x) = {call})({x}, 1.0))({a}, 1.0)",
    ):
        assert value(f"y = {program}") == pytest.approx(expected, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("a", [1e10, 1e17, 1e100, 1e200, 1e300])
def test_the_derivatives_by_parameters_that_are_huge(a: float) -> None:
    """At the mean, by their asymptotic series: alone, and beside elements that take many more
    nodes."""
    for call, slope in (
        (f"gammainc(a, {a!r})", -(1 + 1 / (12 * a)) / math.sqrt(2 * math.pi * a)),
        (f"betainc(a, {a!r}, 0.5)", -(1 + 5 / (24 * a)) / math.sqrt(4 * math.pi * a)),
    ):
        assert value(f"y = grad(fn(a) = {call})({a!r})") == pytest.approx(slope, rel=1e-12, abs=0.0)
        beside = value(f"y = grad(fn(a) = sum({call}))([{a!r}, 0.5, 1e-3])")
        assert beside[0] == value(f"y = grad(fn(a) = {call})({a!r})")
