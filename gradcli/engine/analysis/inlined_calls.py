"""Calls inlined as formulas: what `f(x, y)` or `grad(f)(x)` computes, if the text shows it.

It does where a name is bound to one function for good (`inlining.py`) that computes its value from
numbers by elementwise operations; its loops are unrolled (`unrolling.py`). A derivative of such a
function is the derivative of its formula (`inlined_derivatives.py`). A hot expression (`fusion.py`)
takes an inlined call as one operation; any other call is executed.
"""

from __future__ import annotations

from typing import NamedTuple

from ...diagnostics import Span
from ...lang import program
from ...ops.formula import Formula
from ...ops.op import Op
from ..formulas.compound import compound
from ..formulas.differentiation import substitute
from .frames import Body, Frame
from .inlined_derivatives import MAX_NODES, Inliner, NotInlinedError, Value
from .inlining import Known

INLINED = "inlined call"  # the name of the ops that inlined calls become
HIGHER = "higher derivatives"  # the category of those that take derivatives of derivatives


class InlinedCall(NamedTuple):
    """A call as formulas of the `operands`, which are expressions of the frame: one formula, or a
    list of them. `order`: of the derivatives that it takes, 0 for none."""

    formulas: list[Formula]
    listed: bool
    operands: list[program.Expression]
    order: int

    def ops(self) -> list[Op]:
        """The formulas as operations on all of the operands: what a formula doesn't read, the
        function may."""
        if any(sum(1 for _ in formula) > MAX_NODES for formula in self.formulas):
            raise NotInlinedError
        n = len(self.operands)
        category = HIGHER if self.order > 1 else ""
        return [compound(INLINED, formula, n, category) for formula in self.formulas]


def inline_call(node: program.Call, known: dict[int, Known]) -> InlinedCall:
    """Inlines a call. Raises NotInlinedError where that is impossible."""
    inliner = Inliner()
    value = Frame(inliner, known, node.span).call(node)
    return _inlined_call(inliner, value)


def _inlined_call(inliner: Inliner, value: Value) -> InlinedCall:
    operands, places = inliner.numbered()
    formulas = [substitute(v, places) for v in (value if isinstance(value, list) else [value])]
    return InlinedCall(formulas, isinstance(value, list), operands, inliner.order)


def inline_body(
    body: tuple[program.Statement, ...], known: dict[int, Known], span: Span
) -> InlinedCall:
    """Inlines a function's body, as a formula of the names that it reads. Raises NotInlinedError
    where that is impossible."""
    inliner = Inliner()
    value = Body(inliner, known, span).returned(body)
    if value is None:
        raise NotInlinedError
    return _inlined_call(inliner, value)


def may_inline(node: program.Expression, known: dict[int, Known]) -> bool:
    """Whether a node is a call that might be inlined; only the callee is examined."""
    if not isinstance(node, program.Call):
        return False
    callee = node.callee
    if isinstance(callee, program.Read):
        return not callee.checked and callee.slot.index in known
    return isinstance(callee, program.Apply) and callee.op.transforms
