"""The derivatives of an elementwise op as ops of their own: an operand's share of the result's
cotangent, and the tangent of the result.

Each is a formula of the partials. Its own partials come from differentiating that formula, so it
can be differentiated to any order like any op of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ops.op import Op
from .differentiation import cotangent_formula, partial_formula, tangent_formula
from .reading import Formula, per_op


def _op(name: str, formula: Formula, places: Sequence[int | str], category: str) -> Op:
    """Returns the op that computes a formula. Its operands are those in these places of it."""

    numbered = range(len(places))

    def partial_by(k: int) -> Callable[..., Any]:
        return lambda *given: partial_formula(op, k).rule(("result", *numbered))(*given)

    op = Op(
        name,
        ", ".join(f"x{k}" for k in numbered),
        "A derivative of an operation as one operation.",
        category=category,
        internal=True,
        forward=formula.rule(places),
        partials=tuple(map(partial_by, numbered)),
        real_only=True,
        composed=True,
    )
    return op


@per_op
def cotangent_op(op: Op, operand: int) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the share of a real operand in a cotangent `g` as an op, and its operands after `g`.

    These are operands of `op` by index, and "result".
    """
    n = len(op.signature.operands)
    share = cotangent_formula(op, operand)
    reads = tuple(sorted(share.reads() - {n}, key=str))
    return _op(f"cotangent of {op.name}", share, (n, *reads), op.category), reads


@per_op
def tangent_op(op: Op, active: tuple[int, ...]) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the tangent of an op of real operands, of which the `active` have tangents, as an op.

    Its operands are these tangents, and then the second result: operands of `op` by index, and
    "result".
    """
    n = len(op.signature.operands)
    tangents = range(n, n + len(active))
    tangent = tangent_formula(op, active)
    reads = tuple(sorted(tangent.reads() - set(tangents), key=str))
    return _op(f"tangent of {op.name}", tangent, (*tangents, *reads), op.category), reads
