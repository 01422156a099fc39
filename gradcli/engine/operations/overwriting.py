"""Operands that donate their array to the result: in `x @ w + b`, the sum is written over the
product."""

from __future__ import annotations

from typing import Any

from ...lang import program
from ...ops.op import Op
from ..backends.backend import CPU
from ..formulas.reading import rule_reads
from ..trace.tape import Site

# Elementwise ops that can write their result over their first operand.
WRITES_OVER = frozenset(("add", "sub", "mul", "div"))
MAKES_NEW = WRITES_OVER | {"matmul"}  # ops whose result is never an alias of another array


def gives_new_array(node: program.Expression) -> bool:
    """Whether an array that this expression gives is new, so that nothing else refers to it."""
    return isinstance(node, program.Apply) and node.op.name in MAKES_NEW


def donated_array(site: Site, values: list[Any], primals: list[Any]) -> Any:
    """The array of the first operand, which was computed for this operation only, if it can hold
    the result and no record needs it; None otherwise."""
    array, other = primals
    if type(array) is not type(other) or type(array) is not CPU.xp.ndarray:
        return None
    if (
        array.dtype is not other.dtype
        or array.dtype.kind != "f"
        or array.shape[array.ndim - other.ndim :] != other.shape
    ):
        return None
    active = tuple([k for k, v in enumerate(values) if type(v) is tuple])
    return array if can_donate(site.op, 0, values[0], array, active) else None


def can_donate(op: Op, operand: int, value: Any, array: Any, active: tuple[int, ...]) -> bool:
    """Whether no record needs the array of this operand, which was computed for this op only:
    neither the record that made it, nor that of the op, whose operands `active` are traced. A view
    of another array is always needed."""
    if array.base is not None or (type(value) is tuple and value[2].kept(value[1]) is array):
        return False
    return not active or operand not in rule_reads(op, active)
