"""Compound operations: elementwise ops that aren't in the table, composed of those that are.

A hot expression of a program is one (`lowering/fusion.py`), and so is the derivative of an op: the
cotangent of an operand and the tangent of a result are formulas of the partials. A compound op has
its own partials, computed once by differentiating its formula, so it can be differentiated to any
order like any other op, and everything that evaluates formulas (on floats, arrays, the trace,
duals) accepts it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.formula import Formula, key_of
from ...ops.op import Op
from .differentiation import (
    ONE,
    ZERO,
    by_result,
    cotangent_formula,
    differentiate,
    substitute,
    tangent_formula,
)
from .reading import per_op

EXPRESSION = "expression"  # the name of the op of a program's expression
DERIVATIVE = "derived"  # marks an operation in a formula as a derivative


class _Written:
    """A formula as a key for look-ups, equal to any other with the same structure.

    Nodes that this file distinguishes by identity are distinct here, too.
    """

    __slots__ = ("_hash", "_key", "formula")

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._key = (
            key_of(formula),
            tuple([k for k, node in enumerate(formula) if node is ONE or node is ZERO]),
        )
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is _Written and self._key == other._key


def compound(name: str, formula: Formula, n_operands: int, category: str = "") -> Op:
    """Returns the op of a formula of `n_operands` operands.

    Its category is "derivatives" if a part of the formula is one, unless another is given. Formulas
    with the same structure share their op, so that an expression which is compiled again finds what
    was computed for it.
    """
    if not category:
        derives = any(node.value == DERIVATIVE for node in formula if node.arguments)
        category = "derivatives" if derives else "arithmetic"
    return _of_written(name, _Written(formula), n_operands, category)


@per_op
def _of_written(name: str, written: _Written, n_operands: int, category: str) -> Op:
    return _op(name, written.formula, n_operands, category)


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
        "An expression as one operation.",
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


def as_derivative(formula: Formula) -> Formula:
    """Returns the formula marked as a derivative that a program asked for; a number
    becomes a float.
    """
    if formula.kind == "number":
        return as_float(formula)
    return (
        Formula(formula.kind, DERIVATIVE, formula.arguments)
        if formula.arguments
        else Formula("mul", DERIVATIVE, (ONE, formula))
    )


def as_float(formula: Formula) -> Formula:
    """Returns the formula; of an int alone, the float."""
    return (
        Formula("number", float(formula.value))
        if formula.kind == "number" and type(formula.value) is int
        else formula
    )
