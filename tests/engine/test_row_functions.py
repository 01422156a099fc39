"""Formulas on many rows: rewritten, in buffers and by pieces they give what the operations give one
by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.engine.backends.backend import CPU
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.formulas.differentiation import cotangents, differentiate
from gradcli.engine.formulas.formula_source import FormulaSource
from gradcli.engine.formulas.functions import array_by_name
from gradcli.engine.formulas.rewriting import Rewriting
from gradcli.engine.kernels import row_functions
from gradcli.engine.kernels.row_functions import pull_function, value_function
from gradcli.ops.formula import Formula, key_of, read_forward

pytestmark = pytest.mark.filterwarnings("error")

X, Y = (np.random.default_rng(k).normal(size=(3, 700)) for k in range(2))


def _formula(rule: Any) -> Formula:
    return read_forward(rule, 2)


def _plainly(formulas: list[Formula], *operands: Any) -> list[Any]:
    """The operations one by one, as they are written."""
    source = FormulaSource(arrays=True, strict=False)
    values = ", ".join(source.values(formulas))
    n = len(operands)
    function = source.function(
        ", ".join(f"x{k}" for k in range(n)), f"[{values}]", lambda name: array_by_name(CPU, name)
    )
    return [np.broadcast_to(v, X.shape) for v in function(*operands)]


FORMULAS = {
    "a polynomial": _formula(lambda m, x, y: 100.0 * (y - x**2) ** 2 + (1 - x) ** 2),
    "powers": _formula(lambda m, x, y: x**3 + y**4 / 2 - 1 / (x**-1 + 3) + x**1 - m.abs(x) ** 1.5),
    "signs": _formula(
        lambda m, x, y: (x - x * -y) * -y + -(2.0 * x) - -(y / -4.0) + (-x - -y) / -x
    ),
    "constants": _formula(
        lambda m, x, y: (
            m.sqrt(2.0) * x + 3.0 * (2.0 * y) + 0.5 * (0.25 * x) + 0.5 * (1.0 / y) + x / 8
        )
    ),
    "a choice": _formula(lambda m, x, y: m.where(x > 0, m.exp(x) * y, m.sin(y) - x) * x),
    "choices inside": _formula(
        lambda m, x, y: m.where(x > y, m.where(y > 0, x * y, m.exp(y)), m.where(x > -1, y, 3.0)) + x
    ),
    "one side only": _formula(
        lambda m, x, y: m.where(x > -100, x * x, m.exp(y)) + m.where(x > 100, m.exp(y), y * y)
    ),
    "a shared side": _formula(
        lambda m, x, y: m.where(x > 0, m.exp(y), 0.0) + m.where(y > 0, m.exp(y) * x, m.exp(y))
    ),
    "formulas of the table": _formula(
        lambda m, x, y: m.softplus(x) * m.sigmoid(y) + m.erf(x) * m.gelu(y) + m.logaddexp(x, y)
    ),
    "a number": _formula(lambda m, x, y: m.where(x > 0, 2.0, 3.0)),
    "an operand": _formula(lambda m, x, y: x + 0.0 * y),
}
OPERANDS = {
    "arrays": (X, Y),
    "one number a row": (X, Y[0]),
    "a shared vector": (X, Y[:, :1]),
    "a number": (X, 1.5),
    "rows that are apart": (X[:, ::-1], Y),
}


@pytest.mark.parametrize("pieces", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize("operands", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_values_and_partials(
    formula: Formula, operands: tuple[Any, Any], pieces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pieces:
        monkeypatch.setattr(row_functions, "PIECE", 2**8)
        monkeypatch.setattr(row_functions, "CACHED", 2**8)
        monkeypatch.setattr(row_functions, "LEAST", 64)
    value_function.cache_clear()
    whole = tuple(np.shape(v) == X.shape for v in operands)
    with np.errstate(all="ignore"):
        found = value_function(CPU, key_of(formula), whole, (0, 1))(X.shape, *operands)
        expected = _plainly([formula, *differentiate(formula, 2)], *operands)
    value_function.cache_clear()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.broadcast_to(a, X.shape), b)
    assert all(v.shape == X.shape and v.ctypes.data % 64 == 0 for v in found[:1])


@pytest.mark.parametrize("g", [X * Y, 0.7], ids=["an array", "a number"])
@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_cotangents(formula: Formula, g: Any) -> None:
    with np.errstate(all="ignore"):
        (y,) = _plainly([formula], X, Y)
        reads, formulas = cotangents(formula, 2)
        read = [y if k == "result" else (X, Y)[k] for k in reads]
        whole = (*[True for _ in read], np.shape(g) == X.shape)
        found = pull_function(CPU, key_of(formula), 2, whole, (0, 1))(X.shape, *read, g)
        expected = _plainly(formulas, *read, g)
        for a, b in zip(
            expected,
            _plainly(differentiate(formula, 2, Formula("operand", 2)), X, Y, g),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.broadcast_to(a, X.shape), b)


def test_comparisons_give_bools() -> None:
    formula = _formula(lambda m, x, y: m.abs(x * x - y) > 1e-1 * y)
    (found,) = value_function(CPU, key_of(formula), (True, True))(X.shape, X, Y)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, np.abs(X * X - Y) > 0.1 * Y)


def test_a_program_that_runs_again_finds_its_functions() -> None:
    rule = FORMULAS["a polynomial"]
    again = _formula(lambda m, x, y: 100.0 * (y - x**2) ** 2 + (1 - x) ** 2)
    assert value_function(CPU, key_of(rule), (True, True)) is value_function(
        CPU, key_of(again), (True, True)
    )
    other = _formula(lambda m, x, y: 100.0 * (y - x**2) ** 2 + (1.0 - x) ** 2)
    assert key_of(other) != key_of(rule)  # an int is no float
    minus, plus = (key_of(_formula(lambda m, x, y: 1.0 / (x * x + zero))) for zero in (-0.0, 0.0))  # noqa: B023
    assert minus != plus


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        (lambda m, x, y: x**2, "mul(x0, x0)"),
        (lambda m, x, y: x / 4, "mul(0.25, x0)"),
        (lambda m, x, y: x * 2.0, "mul(2.0, x0)"),
        (lambda m, x, y: x + -y, "sub(x0, x1)"),
        (lambda m, x, y: -x + y, "sub(x1, x0)"),
        (lambda m, x, y: -x * -y, "mul(x0, x1)"),
        (lambda m, x, y: -(3.0 * x), "mul(-3.0, x0)"),
        (lambda m, x, y: -(x * (2.0 * y)), "mul(x0, mul(-2.0, x1))"),
        (lambda m, x, y: 3.0 * (2.0 * x), "mul(6.0, x0)"),
        (lambda m, x, y: 3.0 * (5.0 * x), "mul(3.0, mul(5.0, x0))"),  # would round otherwise
        (lambda m, x, y: 0.5 * (4.0 * x), "mul(0.5, mul(4.0, x0))"),  # may overflow inside
        (lambda m, x, y: 0.5 * (1.0 / x), "div(0.5, x0)"),
        (lambda m, x, y: -x / y, "neg(div(x0, x1))"),
        (lambda m, x, y: m.where(m.sqrt(4.0) > 1.0, x, y), "x0"),
    ],
)
def test_rewriting(rule: Any, written: str) -> None:
    assert repr(Rewriting().all([_formula(rule)])[0]) == written


def test_a_sign_stays_outside_what_others_need() -> None:
    product = Formula("mul", None, (Formula("number", 3.0), Formula("operand", 0)))
    assert list(map(repr, Rewriting().all([product, Formula("neg", None, (product,))]))) == [
        "mul(3.0, x0)",
        "neg(mul(3.0, x0))",
    ]


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, -0.25, 3.0, 1e-3, 7.5, -3.0])
NODES = st.recursive(
    st.one_of(
        st.integers(0, 1).map(lambda k: Formula("operand", k)),
        NUMBERS.map(lambda v: Formula("number", v)),
    ),
    lambda nodes: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "div"]), nodes, nodes).map(
            lambda t: Formula(t[0], None, t[1:])
        ),
        st.tuples(st.sampled_from(["neg", "tanh", "abs"]), nodes).map(
            lambda t: Formula(t[0], None, t[1:])
        ),
        st.tuples(nodes, NUMBERS).map(
            lambda t: Formula("pow", None, (t[0], Formula("number", t[1])))
        ),
        st.tuples(nodes, nodes, nodes).map(
            lambda t: Formula(
                "where", None, (Formula("gt", None, (t[0], Formula("number", 0.25))), t[1], t[2])
            )
        ),
    ),
    max_leaves=12,
)
POINTS = np.array([[0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 1e200, -1e-200, math.inf, math.nan]])


THREE_OVER_X = Formula(
    "mul",
    None,
    (
        Formula("number", 3.0),
        Formula("pow", None, (Formula("operand", 0), Formula("number", -1.0))),
    ),
)


@settings(max_examples=150, deadline=None)
@given(NODES)
@example(THREE_OVER_X)
@example(
    Formula(
        "pow",
        None,
        (
            Formula("pow", None, (Formula("number", 3.0), Formula("number", -3.0))),
            Formula("number", 3.0),
        ),
    )
)
def test_any_formula(formula: Formula) -> None:
    x, y = np.repeat(POINTS, 10, axis=1), np.tile(POINTS, 10)
    with np.errstate(all="ignore"):
        (found,) = value_function(CPU, key_of(formula), (True, True))(x.shape, x, y)
        source = FormulaSource(arrays=True, strict=False)
        value = source.value(
            Formula("add", None, (formula, Formula("number", 0.0)))
        )  # an array or not, always NumPy's
        expected = source.function("x0, x1", value, lambda name: array_by_name(CPU, name))(x, y)
    found, expected = np.broadcast_to(found, x.shape) + 0.0, np.broadcast_to(expected, x.shape)
    np.testing.assert_array_equal(found, expected)


def test_conditions_compare_derivatives_and_those_that_are_numbers() -> None:
    text = (
        "fn f(z) = z * 2 + 1.5 * z * z\n"
        "fn row(x, u) { s = x; if -0.5 < grad(f)(x * u) <= u { s = s * u }; if 0.5 < grad(grad(f))(x) { s = s * 3 }; return s }\n"
        "output vmap(row)(array([0.5, -1.0, 2.0, 3.0]), array([0.5, 9.0, 0.1, 30.0]))"
    )
    for tier in (INTERPRETED, WRITTEN, NATIVE):
        with only(tier, FIRST_USE._replace(evaluations=2)):
            (found,) = gradcli.load(source=text).run({}).outputs.values()
        np.testing.assert_array_equal(found, [1.5, -3.0, 6.0, 9.0])
