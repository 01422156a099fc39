"""Which operations may write their result over an operand: `x @ w + b` needs no second array for
the sum."""

from __future__ import annotations

from typing import Any

from ...lang import program
from ...ops.op import Op
from ..backends.backend import CPU
from ..formulas.functions import rule_reads
from ..trace.tape import Site

WRITES_OVER = frozenset(
    ("add", "sub", "mul", "div")
)  # elementwise ops whose first operand's array can be the result's
MAKES_NEW = WRITES_OVER | {"matmul"}  # ops that never give an array that somebody else may hold


def gives_new(node: program.Expression) -> bool:
    """Whether what an expression gives, if it is an array, is new and known to nobody else."""
    return isinstance(node, program.Apply) and node.op.name in MAKES_NEW


def spare(site: Site, values: list[Any], primals: list[Any]) -> Any:
    """The array of the first operand, which was computed for this operation alone, if it can hold
    the result and no record needs it; else None."""
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
    return array if is_unneeded(site.op, 0, values[0], array, active) else None


def is_unneeded(op: Op, operand: int, value: Any, array: Any, active: tuple[int, ...]) -> bool:
    """Whether no record needs the array that was computed for this operand alone: neither the one
    that made it, nor that of the op, whose operands `active` are traced. It must be all of what it
    is a part of."""
    if array.base is not None or (type(value) is tuple and value[2].kept(value[1]) is array):
        return False
    return not active or operand not in rule_reads(op, active)
