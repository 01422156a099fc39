"""The derivatives of an elementwise op as ops of their own: an operand's share of the result's
cotangent, and the tangent of the result.

Each is a formula of the partials. Its own partials come from differentiating that formula, so it
can be differentiated to any order like any op of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.formula import Formula
from ...ops.op import Op
from .differentiation import (
    by_result,
    cotangent_formula,
    differentiate,
    substitute,
    tangent_formula,
)
from .reading import per_op


def _op(name: str, formula: Formula, n_operands: int, category: str) -> Op:
    derivatives: list[Formula] = []

    def partial_by(k: int) -> Callable[..., Formula]:
        def partial(m: Any, y: Any, *operands: Any) -> Formula:
            if not derivatives:
                derivatives.extend(
                    by_result(formula, n_operands) or differentiate(formula, n_operands)
                )
            return derivatives[k]

        return partial

    return Op(
        name,
        ", ".join(f"x{k}" for k in range(n_operands)),
        "A derivative of an operation as one operation.",
        category=category,
        internal=True,
        forward=lambda m, *operands: formula,
        partials=tuple(partial_by(k) for k in range(n_operands)),
        real_only=True,
        composed=True,
    )


@per_op
def cotangent_op(op: Op, operand: int) -> tuple[Op, tuple[int | str, ...]]:
    """Returns the share of a real operand in a cotangent `g` as an op, and its operands after `g`.

    These are operands of `op` by index, and "result".
    """
    n = len(op.signature.operands)
    share = cotangent_formula(op, operand)
    reads = tuple(sorted(share.reads() - {n}, key=str))
    places = {read: Formula("operand", k) for k, read in enumerate((n, *reads))}
    name = f"cotangent of {op.name}"
    return _op(name, substitute(share, places), 1 + len(reads), op.category), reads


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
    places = {read: Formula("operand", k) for k, read in enumerate((*tangents, *reads))}
    name = f"tangent of {op.name}"
    return _op(name, substitute(tangent, places), len(places), op.category), reads
