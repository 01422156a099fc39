"""The derivative rules of the table, in IR."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.op import Op
from ..formulas.differentiation import cotangent_op, real_partial_formula, tangent_op
from ..formulas.reading import forward_formula
from ..ir.builder import Builder
from ..ir.instructions import Operation, Value
from ..ir.scalars import WHERE


class NoRule(Exception):  # noqa: N818 - an answer, not an error
    """Why a derivative can't be written in IR."""


def share(builder: Builder, made: Operation, k: int, g: Value) -> Value:
    """The share of the `k`th operand in the cotangent `g` of an operation's result."""
    if made.op is WHERE:
        nothing = builder.constant(0.0)
        sides = [g, nothing] if k == 1 else [nothing, g]
        return builder.operation(WHERE, [made.operands[0], *sides])
    if _is_flat(made, k):
        return _nothing_of(builder, g)
    return _composed(builder, *cotangent_op(made.op, k), made, [g])


def tangent(builder: Builder, made: Operation, tangents: dict[int, Value]) -> Value:
    """The tangent of an operation's result, from the tangents of operands by their positions."""
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
    """A derivative of an operation, as one operation on other derivatives and on the values that
    its rule reads. As in the interpreter, it is connected with all of these."""
    formula = forward_formula(op)
    if formula.kind == "operand":
        return given[int(formula.value)]
    values = [made.result if read == "result" else made.operands[int(read)] for read in reads]
    with builder.at(made.span):
        return builder.operation(op, [*given, *values])


def _nothing_of(builder: Builder, g: Value) -> Value:
    """The zero 0.0, never -0.0, connected with the same values as a derivative."""
    zero = builder.constant(0.0)
    return builder.apply("add", [builder.apply("strict_mul", [g, zero]), zero])


def _is_flat(made: Operation, k: int) -> bool:
    """Whether the derivative of an operation by an operand is 0 everywhere. Raises NoRule."""
    if made.op.partials[k] is None:
        name = made.op.signature.operands[k].name
        raise NoRule(f"`{made.op.name}` has no derivative by `{name}`")
    return real_partial_formula(made.op, k).is_number(0.0)
