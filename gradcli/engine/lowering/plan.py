"""The plan of an expression that becomes one function: its leaves and its operations."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...ops.op import Op
from ..analysis.inlined_calls import INLINED
from ..formulas.reading import forward_formula, returned_operands
from ..trace.tape import Site

# The result of a generated function for operands of other kinds than it was specialised to.
MISS = object()
REGION = Op("region", "*operands", "A region as one operation.", internal=True, engine=True)


class Leaf(NamedTuple):
    """A value that an expression reads.

    kind    "slot" or "cell" of the frame, with its index as `value`, or a "closure" of the frame
    reads   a key of what the closure reads, equal for closures that read the same; None if unknown
    is_new  whether its array is new, so that it has no alias
    """

    kind: str
    value: Any
    reads: Any = None
    is_new: bool = False

    def of(self, frame: list[Any]) -> Any:
        """The value of a slot or cell."""
        return frame[self.value] if self.kind == "slot" else frame[self.value][0]


class Operation(NamedTuple):
    """An operation of the expression; an operand is ("leaf" | "op" | "number", index or value)."""

    site: Site
    operands: tuple[tuple[str, Any], ...]


class Plan(NamedTuple):
    """The operations of an expression that can be one function, operands first, and the leaves that
    they read."""

    ops: list[Operation]
    leaves: list[Leaf]


def returned_leaves(plan: Plan) -> set[int]:
    """The leaves that an expression may return unchanged: a variable that passes through a function
    stays a variable."""
    last = plan.ops[-1]
    if last.site.op.name != INLINED:
        return set()
    refs = [last.operands[k] for k in returned_operands(forward_formula(last.site.op))]
    return {int(value) for kind, value in refs if kind == "leaf"}
