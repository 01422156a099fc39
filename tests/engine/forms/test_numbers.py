"""Numbers of forms, worked out by mpmath, are those that SymPy works out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy

from gradcli.engine.symbolic import numbers
from gradcli.engine.symbolic.calculus import bottom_up, evaluated
from gradcli.engine.symbolic.exact import binary
from gradcli.engine.symbolic.numbers import NAMES, Numbers

X, Y = sympy.symbols("x y", real=True)
POINT = {X: 0.7, Y: -1.3}
TWO = {"atan2", "besseli"}  # functions of two operands

FORMS = [
    *(getattr(sympy, name)(*([X + 2, Y] if name in TWO else [X])) for name in NAMES),
    *(sympy.floor(10 * Y), sympy.ceiling(10 * Y), sympy.polygamma(1, X), sympy.Abs(X * Y)),
    *(X + Y + sympy.Rational(1, 3), X * Y * sympy.pi, Y**3, X ** sympy.Rational(1, 3), X**Y),
    *(sympy.Max(X, Y, 0), sympy.Min(X, Y), sympy.Heaviside(Y), sympy.Heaviside(X - binary(0.7))),
    *(sympy.Piecewise((X, c), (Y, True)) for c in (X < Y, X <= Y, X > Y, X >= Y, sympy.Eq(X, Y))),
    sympy.Piecewise((X, sympy.And(X > 0, sympy.Or(Y > 0, sympy.Ne(X, Y)))), (Y, True)),
    *(sympy.log(Y), sympy.sqrt(Y) * X, sympy.exp(sympy.I * X)),  # complex ones
]
SYMPYS = [  # forms that are left to SymPy
    *(sympy.zeta(X + 2, X), sympy.lowergamma(X, 2), sympy.atan(1 / (X - binary(0.7)))),
    *(1 / (X - binary(0.7)), sympy.log(X - binary(0.7)), sympy.Piecewise((X, X < 0))),
    sympy.Piecewise((X, X > 0), (1 / (X - binary(0.7)), True)),
    sympy.atan(sympy.log(X - binary(0.7))),
]


def sympys(form: Any, digits: int) -> Any:
    known = {symbol: binary(value) for symbol, value in POINT.items()}
    return evaluated(bottom_up(form), known, digits)


@pytest.mark.parametrize("digits", [20, 50])
@pytest.mark.parametrize("form", [*FORMS, *SYMPYS], ids=str)
def test_a_number_is_the_one_that_sympy_works_out(form: Any, digits: int) -> None:
    found, want = Numbers(), sympys(form, digits)
    found.at(POINT, digits)
    number, wanted = found.of(form), found.rounded(want)
    assert found.context.isfinite(number) == found.context.isfinite(wanted)
    if found.context.isfinite(wanted):
        assert abs(number - wanted) <= abs(wanted) * found.context.mpf(10) ** -digits


@pytest.mark.parametrize("form", [*FORMS, *SYMPYS], ids=str)
def test_sympy_works_out_what_is_not_listed(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(numbers, "evaluated", lambda *given: asked.append(given) or sympy.nan)
    found = Numbers()
    found.at(POINT, 20)
    found.of(form)
    assert bool(asked) == (form in SYMPYS)


def test_each_part_is_worked_out_once_at_a_point() -> None:
    found, calls = Numbers(), []
    sine = found.context.sin
    found.functions["sin"] = lambda x: calls.append(x) or sine(x)
    part = sympy.sin(X)
    for point in (POINT, POINT, {X: 0.5, Y: -1.3}):
        found.at(point, 20)
        for form in (part**2, part * Y, part + 1):
            found.of(form)
    assert calls == [0.7, 0.5]
    found.at(POINT, 40)
    found.of(part)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((0.1, 0.1), (3, 3), (np.int64(3), 3), (2**60 + 1, 2**60 + 1), (-math.inf, -math.inf)),
        *((np.float32(0.1), 13421773 / 2**27), (np.array(0.1, "float32"), 13421773 / 2**27)),
    ],
    ids=repr,
)
def test_a_symbol_has_its_value_exactly(value: Any, number: Any) -> None:
    found = Numbers()
    found.at({X: value}, 20)
    assert found.of(X) == number
