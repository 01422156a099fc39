"""Unrolling of loops in inlined functions: the values that the turns begin with, and the results of
operations on known ints.

A loop is unrolled if its number of turns is known, as for `range(4)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...lang import program
from ...ops.formula import Formula
from ...ops.op import Op
from ..backends.backend import INT_MAX, INT_MIN
from ..formulas.functions import scalar_function
from ..formulas.scalars import INTEGER
from .inlined_derivatives import NotInlinedError, is_int


def items(
    node: program.Expression, number: Callable[[program.Expression], Formula]
) -> Iterable[Formula]:
    """The items of a `for` that are known: those of a range of known ints, or the numbers of a
    list."""
    if isinstance(node, program.ListDisplay):
        return [number(item) for item in node.items]
    if not isinstance(node, program.Apply) or node.op.name != "range":
        raise NotInlinedError
    bounds = [number(operand) for operand in node.operands if operand is not None]
    if not all(map(is_int, bounds)):
        raise NotInlinedError
    if len(bounds) == 3 and bounds[2].value == 0:
        raise NotInlinedError
    return (Formula("number", k) for k in range(*[bound.value for bound in bounds]))


def on_ints(op: Op, operands: tuple[Formula, ...]) -> Formula:
    """Computes an operation on known ints."""
    values = [operand.value for operand in operands]
    if op.integers == "float":
        return Formula("number", scalar_function(op)(*map(float, values)))
    try:
        y = INTEGER[op.name](*values)
    except (OverflowError, ZeroDivisionError):
        raise NotInlinedError from None  # which are errors where they happen
    if type(y) is int and not INT_MIN <= y <= INT_MAX:
        raise NotInlinedError
    return Formula("number", y)
