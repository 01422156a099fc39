"""Closures for rows: a function's body, or a condition, as one fused operation."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ...lang import program
from ..analysis.frames import COMPARISONS
from ..analysis.inlined_calls import inline_body
from ..analysis.inlined_derivatives import NotInlinedError
from ..compilation.compiler import Closure, Compiler
from ..trace.tape import Site
from ..values.kinds import FRAME_HEAD
from .fused_rows import FusedRows
from .plan import MISS, Leaf, Operation, Plan
from .planning import collect


def body_on_rows(c: Compiler, body: tuple[program.Statement, ...], cold: Closure) -> Closure:
    """The closure of a function's body for rows: one operation if its whole computation can be one,
    otherwise `cold`."""
    if c.slow or c.counts or not body or not isinstance(body[-1], program.Return):
        return cold
    functions, span = c.functions, body[-1].span
    closure: Closure | None = None

    def look() -> Closure:
        with suppress(NotInlinedError):
            call = inline_body(body, functions, span)
            (op,) = call.ops()
            slots = [operand.slot for operand in call.operands if isinstance(operand, program.Read)]
            leaves = [
                Leaf("cell" if slot.cell else "slot", slot.index + FRAME_HEAD) for slot in slots
            ]
            if leaves:
                refs = tuple([("leaf", k) for k in range(len(leaves))])
                return _on_rows(Plan([Operation(Site(op, span), refs)], leaves), cold)
        return cold

    def call(frame: list[Any]) -> Any:
        nonlocal closure
        if (found := closure) is None:  # planned at the first call with rows
            found = closure = look()
        return found(frame)

    return call


def condition_on_rows(c: Compiler, node: program.Expression, cold: Closure) -> Closure | None:
    """The closure of a comparison of plain expressions for rows, as one operation that isn't
    recorded, as gradients don't flow through comparisons. None for any other condition."""
    if c.slow or c.counts or not isinstance(node, program.Apply) or node.op.name not in COMPARISONS:
        return None
    found = Plan([], [])
    with suppress(NotInlinedError):
        refs = [
            collect(operand, found, None, c.functions, None, 1)
            for operand in node.operands
            if operand is not None
        ]
        if found.ops and found.leaves:
            found.ops.append(Operation(Site(node.op, node.span), tuple(refs)))
            return _on_rows(found, cold)
    return None


def _on_rows(found: Plan, cold: Closure) -> Closure:
    rows, leaves = FusedRows(found), found.leaves

    def call(frame: list[Any]) -> Any:
        y = rows.evaluate(frame[0], [leaf.of(frame) for leaf in leaves])
        return cold(frame) if y is MISS else y

    return call
