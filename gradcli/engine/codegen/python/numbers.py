"""Numbers as Python has them. Those in float32 are NumPy's, as in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops.op import Op
from ...backends.backend import CPU, INT_MAX, INT_MIN
from ...formulas import scalars
from ...formulas.functions import array_function, scalar_function
from ...ir.instructions import Block, Constant, Value
from ...ir.types import BOOL, F32, I64, Type
from ..step_back import StepBack


def float32(value: Any) -> Any:
    """A number in float32. An int is converted to a float first."""
    return CPU.xp.float32(float(value) if type(value) is int else value)


def number_of(made: Constant) -> Any:
    """The number of a constant."""
    return float32(made.value) if made.result.type == F32 else made.value


def numbers_in(block: Block) -> dict[Value, Any]:
    """The numbers of a block's constants."""
    return {made.result: number_of(made) for made in block.instructions if type(made) is Constant}


def function_on(op: Op, kind: Type) -> Callable[..., Any]:
    """The function of an op on numbers of a type."""
    if kind == F32:
        return array_function(CPU, op)
    if kind in (I64, BOOL) and op.name in scalars.INTEGER:
        return scalars.INTEGER[op.name]
    return scalar_function(op)


def checked(function: Callable[..., Any], *operands: int) -> int:
    """The result of an operation, if it is an int of 64 bits. Raises StepBack."""
    try:
        found = function(*operands)
    except (OverflowError, ZeroDivisionError):
        raise StepBack from None
    if type(found) is not int or not INT_MIN <= found <= INT_MAX:
        raise StepBack
    return found
