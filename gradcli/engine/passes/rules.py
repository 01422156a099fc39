"""The derivative rules of the table, in IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula
from ..formulas.differentiation import cotangent_formula, tangent_formula
from ..ir.builder import Builder
from ..ir.instructions import Operation, Value
from ..ir.types import is_float
from ..ir.verifier import WHERE


class NoRule(Exception):  # noqa: N818 - an answer, not an error
    """A derivative that can't be written in IR, and why."""


def share(builder: Builder, made: Operation, k: int, g: Value) -> Value:
    """The share of an operand, by its position, in the cotangent `g` of an operation's result."""
    if made.op is WHERE:
        nothing = builder.constant(0.0)
        sides = [g, nothing] if k == 1 else [nothing, g]
        return builder.operation(WHERE, [made.operands[0], *sides])
    if made.op.partials[k] is None:
        raise NoRule(f"`{made.op.name}` has no derivative by `{_operand(made, k)}`")
    return evaluate(builder, cotangent_formula(made.op, k), [*made.operands, g], made.result)


def tangent(builder: Builder, made: Operation, tangents: dict[int, Value]) -> Value:
    """The tangent of an operation's result, from those of operands by their positions."""
    if made.op is WHERE:
        sides = [tangents.get(k) or builder.constant(0.0) for k in (1, 2)]
        return builder.operation(WHERE, [made.operands[0], *sides])
    for k in tangents:
        if made.op.partials[k] is None:
            raise NoRule(f"`{made.op.name}` has no derivative by `{_operand(made, k)}`")
    formula = tangent_formula(made.op, tuple(tangents))
    return evaluate(builder, formula, [*made.operands, *tangents.values()], made.result)


def _operand(made: Operation, k: int) -> str:
    return made.op.signature.operands[k].name


def evaluate(builder: Builder, formula: Formula, operands: Sequence[Value], y: Value) -> Value:
    """The value of a formula of operands and the result `y`, computed in floats."""

    def lifted(value: Any) -> Value:
        if isinstance(value, Value):
            return value
        if isinstance(value, complex):
            raise NoRule("complex numbers are not compiled")
        return builder.constant(value if isinstance(value, bool) else float(value))

    def call(name: str, values: list[Any]) -> Value:
        if name == "conj":  # of a real number
            return lifted(values[0])
        return builder.apply(name, list(map(lifted, values)))

    if any(name not in OPS for name in _kinds(formula)):
        raise NoRule("a rule is not elementwise")
    found = lifted(formula.evaluate(operands, y, call))
    return found if is_float(found.type) else builder.cast(found, y.type)  # type: ignore[arg-type]


def _kinds(formula: Formula) -> list[str]:
    return [node.kind for node in formula if node.arguments]
