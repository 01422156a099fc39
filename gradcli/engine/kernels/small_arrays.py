"""Expressions on arrays that fit into the cache: each operation computes whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ops.op import Op
from ..backends.backend import CPU, shape_of
from ..formulas.differentiation import cotangents_of
from ..formulas.reading import forward_formula, per_op
from .row_functions import unbuffered

SMALL = 2**12  # elements; computing so few costs no more than some calls


@per_op
def small_value(op: Op) -> Callable[..., Any]:
    """Returns the function of an expression's value, `(shape, *operands) -> array`."""
    function = unbuffered(CPU, [forward_formula(op)], len(op.signature.operands))
    return lambda shape, *operands, out=None: _apart(function(*operands)[0], shape, operands)


@per_op
def small_pull(op: Op, by: tuple[int, ...]) -> Callable[..., list[Any]]:
    """Returns the function of the cotangents of its operands `by`, each of the value's shape.

    It is `(shape, *what they read, cotangent) -> arrays`.
    """
    reads, found = cotangents_of(op)
    function = unbuffered(CPU, [found[k] for k in by], len(reads) + 1)
    return lambda shape, *given: [_apart(c, shape, given) for c in function(*given)]


def _apart(result: Any, shape: tuple[int, ...], operands: Sequence[Any]) -> Any:
    """Returns a result as an array of this shape that doesn't alias an operand."""
    if shape_of(result) != shape:  # it broadcasts, or a branch on a number returned a number
        return CPU.xp.broadcast_to(result, shape).copy()
    return result.copy() if any([result is operand for operand in operands]) else result  # noqa: C419
