"""Expressions as operations: those that are written in the same way are one, and only those."""

from __future__ import annotations

import math

import pytest

from gradcli.engine.formulas.compound import EXPRESSION, compound, cotangent_op
from gradcli.engine.formulas.differentiation import ONE, ZERO, cotangents
from gradcli.engine.formulas.formula_source import function_of
from gradcli.engine.formulas.functions import scalar_function
from gradcli.engine.formulas.reading import rule_reads
from gradcli.ops import OPS
from gradcli.ops.formula import Formula, formula_of, key_of
from gradcli.ops.registry import replaced

X, Y = Formula("operand", 0), Formula("operand", 1)


def number(value: complex) -> Formula:
    return Formula("number", value)


def test_what_is_written_in_the_same_way_is_one_operation() -> None:
    first, second = (
        compound(EXPRESSION, Formula("operand", 0) * number(2.0) + number(1.0), 1) for _ in range(2)
    )
    assert first is second
    assert scalar_function(first)(3.0) == 7.0


@pytest.mark.parametrize(
    "other",
    [
        X * number(2),  # an int
        X * number(-2.0),
        number(2.0) * X,
        X * number(2.0) + number(0.0),
        X + number(2.0),
    ],
)
def test_what_is_written_otherwise_is_another(other: Formula) -> None:
    assert compound(EXPRESSION, other, 1) is not compound(EXPRESSION, X * number(2.0), 1)


def test_so_are_other_operands_names_zeros_and_shared_parts() -> None:
    assert compound(EXPRESSION, X + X, 2) is not compound(EXPRESSION, X + X, 1)
    assert compound("reading", X + X, 1) is not compound(EXPRESSION, X + X, 1)
    assert compound(EXPRESSION, X * number(0.0), 1) is not compound(EXPRESSION, X * number(-0.0), 1)
    assert compound(EXPRESSION, X + ZERO * ONE, 1) is not compound(
        EXPRESSION, X + number(0.0) * number(1.0), 1
    )
    part = X * Y
    assert compound(EXPRESSION, part + part, 2) is not compound(
        EXPRESSION, X * Y + Formula("operand", 0) * Y, 2
    )
    assert key_of(formula_of(key_of(part + part))) == key_of(part + part)


def test_each_operand_has_a_cotangent_of_its_own() -> None:
    """Though both are written in the same way: a check counts them as two."""
    assert cotangent_op(OPS["mul"], 0)[0] is not cotangent_op(OPS["mul"], 1)[0]


def test_another_rule_makes_another_operation() -> None:
    before = compound(EXPRESSION, Formula("sin", None, (X,)), 1)
    with replaced("sin", partials=(lambda m, y, x: 2.0 * m.cos(x),)):
        assert compound(EXPRESSION, Formula("sin", None, (X,)), 1) is not before


def test_functions_of_one_source_have_names_of_their_own() -> None:
    source = "def f(x):\n    return g(x)\n"
    sine, cosine = (function_of(source, "<test>", {"g": g}) for g in (math.sin, math.cos))
    assert [sine(0.5), cosine(0.5), sine(0.5)] == [math.sin(0.5), math.cos(0.5), math.sin(0.5)]
    assert sine.__code__ is not cosine.__code__


@pytest.mark.parametrize(
    ("formula", "reads"),
    [
        (Formula("relu", None, (X + Y,)), ("result",)),
        (Formula("exp", None, (-X,)), ("result",)),
        (Formula("tanh", None, (X * Y,)), (0, 1)),
        (X + Y, (0, 1)),
        (Formula("sin", None, (X + Y,)), (0, 1)),
    ],
)
def test_what_the_way_back_reads(formula: Formula, reads: tuple[int | str, ...]) -> None:
    n = len(formula.reads())
    assert cotangents(formula, n)[0] == reads
    kept = rule_reads(compound(EXPRESSION, formula, n), tuple(range(n)))
    assert kept == (set() if formula.kind == "add" else set(reads))
