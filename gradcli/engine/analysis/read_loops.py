"""What reading a loop needs to know: the values that its turns begin with, and what ints give that
are known by then.

A loop is read turn by turn, as if each stood in the text by itself: so there is one where it is
known how many turns there are, as of `range(4)`, or is for the ints at hand (`known_ints.py`); or
for each way that its conditions can turn out (`branches.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...lang import program
from ...ops.formula import Formula
from ...ops.op import Op
from ..backends.backend import INT_MAX, INT_MIN
from ..formulas.functions import scalar_function
from ..formulas.scalars import INTEGER
from .read_derivatives import NotPlainError, is_int

MAX_TURNS = (
    8  # of a loop that ends by a condition on what isn't known: each number of turns is a path
)


class TripCountError(NotPlainError):
    """It is, as far as a loop of a number of turns that isn't known."""


def items(
    node: program.Expression, number: Callable[[program.Expression], Formula]
) -> Iterable[Formula]:
    """What a `for` goes through, where that is known: a range of ints that are, or the numbers of a
    list."""
    if isinstance(node, program.ListDisplay):
        return [number(item) for item in node.items]
    if not isinstance(node, program.Apply) or node.op.name != "range":
        raise NotPlainError
    bounds = [number(operand) for operand in node.operands if operand is not None]
    if not all(map(is_int, bounds)):
        raise TripCountError
    if len(bounds) == 3 and bounds[2].value == 0:
        raise NotPlainError
    return (Formula("number", k) for k in range(*[bound.value for bound in bounds]))


def on_ints(op: Op, operands: tuple[Formula, ...]) -> Formula:
    """The result of an operation on ints that are known, as it would be of the values."""
    values = [operand.value for operand in operands]
    if op.integers == "float":
        return Formula("number", scalar_function(op)(*map(float, values)))
    try:
        y = INTEGER[op.name](*values)
    except (OverflowError, ZeroDivisionError):
        raise NotPlainError from None  # which are errors where they happen
    if type(y) is int and not INT_MIN <= y <= INT_MAX:
        raise NotPlainError
    return Formula("number", y)
