"""Derivatives of elementwise ops as ops of their own."""

from __future__ import annotations

import math

from gradcli.engine.formulas.differentiation import cotangent_op
from gradcli.engine.formulas.formula_source import function_of
from gradcli.engine.formulas.functions import scalar_function
from gradcli.ops import OPS
from gradcli.ops.registry import replaced


def test_each_operand_has_a_cotangent_of_its_own() -> None:
    """Though both are written in the same way: a check counts them as two."""
    assert cotangent_op(OPS["mul"], 0)[0] is not cotangent_op(OPS["mul"], 1)[0]


def test_another_rule_makes_another_operation() -> None:
    before = cotangent_op(OPS["sin"], 0)[0]
    with replaced("sin", partials=(lambda m, y, x: 2.0 * m.cos(x),)):
        found = scalar_function(cotangent_op(OPS["sin"], 0)[0])
    assert found(1.5, 0.25) == 2 * scalar_function(before)(1.5, 0.25) == 3.0 * math.cos(0.25)


def test_functions_of_one_source_have_names_of_their_own() -> None:
    source = "def f(x):\n    return g(x)\n"
    sine, cosine = (function_of(source, "<test>", {"g": g}) for g in (math.sin, math.cos))
    assert [sine(0.5), cosine(0.5), sine(0.5)] == [math.sin(0.5), math.cos(0.5), math.sin(0.5)]
    assert sine.__code__ is not cosine.__code__
