"""The derivative rules of the table, in IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops import OPS
from ...ops.formula import Formula
from ...ops.op import Op
from ..formulas.derivative_ops import cotangent_op, tangent_op
from ..formulas.reading import forward_formula, real_partial_formula
from ..ir.builder import Builder
from ..ir.instructions import Operation, Value
from ..ir.scalars import WHERE


class NoRule(Exception):  # noqa: N818 - an answer, not an error
    """A derivative that can't be written in IR, and why."""


def share(builder: Builder, made: Operation, k: int, g: Value) -> Value:
    """The share of an operand, by its position, in the cotangent `g` of an operation's result."""
    if made.op is WHERE:
        nothing = builder.constant(0.0)
        sides = [g, nothing] if k == 1 else [nothing, g]
        return builder.operation(WHERE, [made.operands[0], *sides])
    if _is_flat(made, k):
        return _nothing_of(builder, g)
    return _composed(builder, *cotangent_op(made.op, k), made, [g])


def tangent(builder: Builder, made: Operation, tangents: dict[int, Value]) -> Value:
    """The tangent of an operation's result, from those of operands by their positions."""
    if made.op is WHERE:
        sides = [tangents.get(k) or builder.constant(0.0) for k in (1, 2)]
        return builder.operation(WHERE, [made.operands[0], *sides])
    moving = {k: t for k, t in tangents.items() if not _is_flat(made, k)}
    if not moving:
        return _nothing_of(builder, next(iter(tangents.values())))
    op, reads = tangent_op(made.op, tuple(moving))
    return _composed(builder, op, reads, made, list(moving.values()))


def _composed(
    builder: Builder, op: Op, reads: Sequence[int | str], made: Operation, given: list[Value]
) -> Value:
    """A derivative of an operation as one operation, of other derivatives and of what the rule
    reads: as in the interpreter, it is connected with all of these."""
    formula = forward_formula(op)
    if formula.kind == "operand":
        return given[int(formula.value)]
    values = [made.result if read == "result" else made.operands[int(read)] for read in reads]
    return builder.operation(op, [*given, *values], made.span)


def _nothing_of(builder: Builder, g: Value) -> Value:
    """A zero, never a negative one, that is connected with what a derivative is made of."""
    zero = builder.constant(0.0)
    return builder.apply("add", [builder.apply("strict_mul", [g, zero]), zero])


def _is_flat(made: Operation, k: int) -> bool:
    """Whether the derivative of an operation by an operand is 0 everywhere. Raises NoRule."""
    if made.op.partials[k] is None:
        name = made.op.signature.operands[k].name
        raise NoRule(f"`{made.op.name}` has no derivative by `{name}`")
    partial = real_partial_formula(made.op, k)
    return partial.kind == "number" and partial.value == 0


def evaluate(builder: Builder, formula: Formula, operands: Sequence[Value], y: Value) -> Value:
    """The value of a formula of operands and the result `y`, computed in floats. Numbers of the
    formula take the type of the floats that they meet."""

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
    return builder.cast(found, y.type)  # type: ignore[arg-type]


def _kinds(formula: Formula) -> list[str]:
    return [node.kind for node in formula if node.arguments]
