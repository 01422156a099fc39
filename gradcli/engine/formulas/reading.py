"""What the entries of the table say, as formulas, each of which is read once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from ...ops.formula import Formula, read_forward, read_partial
from ...ops.op import Op
from ...ops.registry import on_change
from .formula_source import is_number

Made = TypeVar("Made")


def per_op(make: Callable[..., Made]) -> Callable[..., Made]:
    """Caches what is computed for an op, until the table changes.

    The cache is bounded, since programs define ops of their own.
    """
    made = lru_cache(maxsize=1024)(make)
    on_change(made.cache_clear)
    return made


@per_op
def forward_formula(op: Op) -> Formula:
    assert op.forward is not None
    return read_forward(op.forward, len(op.signature.operands))


@per_op
def partial_formula(op: Op, operand: int) -> Formula:
    """Returns the partial derivative of an elementwise op by one operand, as a formula of the
    result and the operands.
    """
    rule = op.partials[operand]
    assert rule is not None, f"operand {operand} of `{op.name}` is an order"
    return read_partial(rule, len(op.signature.operands))


@per_op
def real_partial_formula(op: Op, operand: int) -> Formula:
    """Returns the partial derivative by a real operand; 0 if it is imaginary, as those of `imag`
    and `angle`.
    """
    partial = partial_formula(op, operand)
    turns = any(node.kind == "number" and type(node.value) is complex for node in partial)
    return Formula("number", 0.0) if turns else partial


@per_op
def rule_reads(op: Op, operands: tuple[int, ...]) -> frozenset[int | str]:
    """Returns the operands, and "result", whose values the partials by `operands` read."""
    return frozenset().union(*(partial_formula(op, k).reads() for k in operands))


def is_mask(partial: Formula) -> bool:
    """Returns whether a formula is 1 where a condition holds, and 0 elsewhere."""
    return (
        partial.kind == "where"
        and is_number(partial.arguments[1], 1.0)
        and is_number(partial.arguments[2], 0.0)
    )


@per_op
def is_bounded(op: Op, operand: int) -> bool:
    """Returns whether the partial by an operand is finite wherever it is defined: a number, or 1 or
    0.
    """
    partial = partial_formula(op, operand)
    return partial.kind == "number" or is_mask(partial)
