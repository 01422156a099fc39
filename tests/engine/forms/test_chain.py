"""The chain rule through names gives what differentiating a whole form does."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from gradcli.engine.symbolic.algebra import detached
from gradcli.engine.symbolic.calculus import derivative, evaluate
from gradcli.engine.symbolic.chain import Chain, Names, UnknownError, rates_of
from gradcli.engine.symbolic.exact import binary
from gradcli.engine.symbolic.limits import Budget

X, Y = sympy.symbols("x y", real=True)
POINT = {X: 0.7, Y: -1.3}
ONE, OTHER = {X: sympy.Rational(1, 3), Y: sympy.Integer(2)}, {Y: sympy.Integer(-1)}


def along(form: Any, rates: Any) -> Any:
    return sympy.Add(*[derivative(form, symbol) * rate for symbol, rate in rates.items()])


def made(limit: int) -> tuple[Chain, Any, Names]:
    """A form, built step by step with names and without."""
    names, budget = Names(limit), Budget(10_000)
    steps = [
        lambda v: sympy.sin(v * X) + Y,
        lambda v: sympy.exp(v / 3) * sympy.atan(v + Y),
        lambda v: sympy.Piecewise((v**2, v > Y), (X, True)) - v * X,
        lambda v: sympy.sqrt(1 + v**2) + sympy.floor(v) * Y,
        lambda v: v * detached(v) + sympy.Abs(v),
    ]
    short = whole = X
    for step in steps:
        short, whole = names.shortened(step(short), 1.0, budget), step(whole)
    return Chain(short, names.definitions), whole, names


@pytest.mark.parametrize("limit", [0, 5, 20, 10_000])
def test_derivatives(limit: int) -> None:
    chain, whole, names = made(limit)
    assert (len(names.definitions) > 0) == (limit < 10_000)
    first = along(whole, ONE)
    for other, form in ((None, first), (OTHER, along(first, OTHER))):
        found, want = chain.slope(POINT, ONE, other, 50), evaluate(form, POINT)
        assert float(found) == pytest.approx(float(want), rel=1e-13)


def test_another_point() -> None:
    chain = made(5)[0]
    one, two = ({X: x, Y: -1.3} for x in (0.7, 0.2))
    found = [chain.slope(point, ONE, None, 50) for point in (one, two, one)]
    assert found[0] == found[2] != found[1]
    assert found[1] == made(5)[0].slope(two, ONE, None, 50)


@pytest.mark.parametrize(
    ("power", "has_name"),
    [
        ((X + Y) ** binary(2.4), True),
        (2 * (X / 3 + 1) ** binary(-0.7), True),
        ((X + Y) ** binary(2.5), False),
        (X ** binary(2.4), False),
    ],
)
def test_powers_with_exponents_of_many_digits_have_names(power: Any, has_name: bool) -> None:
    names = Names(10_000)
    short = names.shortened(power, 1.0, Budget(10_000))
    assert (short in names.definitions) == has_name
    assert names.definitions.get(short, short) == power


def test_what_sympy_has_no_formula_for() -> None:
    chain = Chain(sympy.zeta(X + 1), {})
    for _ in range(2):
        with pytest.raises(UnknownError):
            chain.slope(POINT, {X: sympy.Integer(1)}, None, 50)


def test_work_is_counted_before_it_is_done() -> None:
    chain = made(5)[0]
    budget = Budget(10_000)
    assert chain.work(ONE, None, budget, 10) > 10
    assert chain.work(ONE, None, budget, 10_000) < chain.work(ONE, OTHER, budget, 10_000) < 10_000
    assert chain.work({sympy.Symbol("z"): 1}, None, budget, 10) == 0


def test_a_complex_source_moves_in_both_its_parts() -> None:
    form = X + sympy.I * Y
    assert rates_of(form, 2.0 - 1.0j) == {X: 2, Y: -1}
    assert rates_of(form, 1.0j) == {Y: 1}
    assert rates_of(X, 0.0) == {}
