"""Ops on scalars, as regions use them: the ops that only regions have, and the type of a result."""

from __future__ import annotations

from ...ops import OPS
from ...ops.op import Op
from .instructions import Operation
from .types import BOOL, F64, FLOATS, Type

WHERE = OPS["where"]  # structural, because of arrays; on scalars it chooses
CHOOSE = Op(
    "choose",
    "condition, a, b",
    "As `where`, but connected with the side that it takes alone, as a branch is.",
    internal=True,
    composed=True,
    forward=lambda m, condition, a, b: m.where(condition, a, b),
)
CHOICES = (WHERE, CHOOSE)
RESTATED = Op(
    "restated",
    "state, value",
    "The new state of a variable: it has the value, and the derivatives of the old state.",
    internal=True,
    integers="keep",
    composed=True,
    forward=lambda m, state, value: m.where(True, value, value),
)


def differentiated(made: Operation) -> range:
    """The positions of the operands by which an operation is differentiated."""
    if made.op is RESTATED:
        return range(1)
    return range(1 if made.op in CHOICES else 0, len(made.operands))


def on_scalars(op: Op) -> bool:
    """Whether an op works on scalars, and gives one."""
    return op in CHOICES or (op.elementwise and bool(op.signature.operands))


def result_type(op: Op, operand: Type) -> Type:
    """The type of an op's result, from the type of its scalar operands."""
    if op.integers == "bool" and op not in CHOICES:
        return BOOL
    keeps = operand in FLOATS or op.integers == "keep" or op in CHOICES
    return operand if keeps else F64
