"""Expressions on arrays that fit into the cache with all that is computed of them: each operation on all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, shape_of
from ..formulas.compound import cotangents_of
from ..formulas.functions import forward_formula, per_op
from .row_functions import unbuffered

SMALL = 2**12  # elements of an array that takes as long as some calls, however it is done


@per_op
def small_value(op: Op) -> Callable[..., Any]:
    """The value of an expression, `(shape, *operands) -> array`."""
    function = unbuffered(CPU, [forward_formula(op)], len(op.signature.operands))
    return lambda shape, *operands, out=None: _apart(function(*operands)[0], shape, operands)


@per_op
def small_pull(op: Op, by: tuple[int, ...]) -> Callable[..., list[Any]]:
    """The cotangents of its operands `by`, `(shape, *what they read, cotangent) -> arrays`, each of the value's shape."""
    reads, found = cotangents_of(op)
    function = unbuffered(CPU, [found[k] for k in by], len(reads) + 1)
    return lambda shape, *given: [_apart(c, shape, given) for c in function(*given)]


def _apart(result: Any, shape: tuple[int, ...], operands: Sequence[Any]) -> Any:
    """A result in an array of this shape that is none of the operands."""
    if shape_of(result) != shape:  # of what broadcasts, or that chose by a number
        return CPU.xp.broadcast_to(result, shape).copy()
    return result.copy() if any([result is operand for operand in operands]) else result  # noqa: C419
