"""Forward mode of structural ops: the tangent of a result, from what the table says of the op (see
op.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .op import Op


def push(
    m: Any, op: Op, t: Sequence[Any], y: Any, operands: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The tangent of `y = op(*operands, **options)`; a list for an op of several results.

    `t` holds the operands' tangents, None for an operand without one; at least one has one, and
    none that the op doesn't move with. Tangents, operands and result are values of `m`, and so is
    what is returned. Of operands and a result that `op.saves` doesn't name, shape and dtype are
    enough.
    """
    if op.jvp is not None:
        return op.jvp(m, t, y, *operands, **options)
    function = getattr(m, op.name)
    if op.linear:
        if options.get("inplace"):  # who hands over an operand doesn't hand over its tangent
            options = {**options, "inplace": False}
        return function(
            *[_direction(m, op, k, *pair) for k, pair in enumerate(zip(t, operands, strict=True))],
            **options,
        )
    assert op.multilinear
    terms = [
        function(*operands[:k], s, *operands[k + 1 :], **options)
        for k, s in enumerate(t)
        if s is not None
    ]
    return sum(terms[1:], terms[0])


def _direction(m: Any, op: Op, k: int, t: Any, operand: Any) -> Any:
    """The value that a linear op takes in place of operand `k`: its tangent, or zeros; the operand
    itself where that has no rule."""
    if not op.moves_with(k):
        return operand
    return m.zeros_like(operand) if t is None else t
