"""The second keeping policy of the trace, for runs that are asked why: everything is kept, and nothing released."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Span
from ..ops.op import Op
from .boxes import primal, up_to
from .tape import Leaf, Segment, Site, Trace, Traced


class KeepingTrace(Trace):
    """The second keeping policy: every operation on anything declared is recorded, active or not, and nothing is released.

    A value that is traced here may have no gradient; `active` holds the numbers of those that have. With the operands of
    conditions and the histories of states, that is what `reasons.py` needs to tell where a chain breaks. Where everything
    is paused it goes on recording, and notes the numbers in `paused`. `declined` has the inputs for which a function's own
    rule returned none, with the call's site and the rule.
    """

    __slots__ = ("active", "conditions", "declined", "executed", "paused", "segments", "states")
    keeps_all = True

    def __init__(self) -> None:
        super().__init__()
        self.active: set[int] = set()
        self.paused: set[int] = set()
        self.declined: dict[int, tuple[Site, Any]] = {}
        self.segments: list[Segment] = [] if self.segment is None else [self.segment]
        self.conditions: list[tuple[Traced, Span]] = []  # what conditions were decided by, and where
        self.states: dict[int, list[tuple[Traced, Span, str]]] = {}  # by variable, what its states were made of, where, and how
        self.executed: set[int] = set()  # the statements that were, by identity

    def leaf(self, primal: Any, number: int | None = None, origin: Leaf | None = None) -> Traced:
        traced = super().leaf(primal, number, origin)
        if origin is None:
            self.active.add(traced[1])
        return traced

    def decide(self, condition: Traced, span: Span) -> bool | None:
        """Notes what decides a path; a kind of this trace may tell which way to go, whatever the condition's value."""
        self.conditions.append((condition, span))
        return None

    def settle(self, value: Traced, span: Span) -> None:
        """Is told of a value that the program goes on with as a plain one, such as an index."""

    def _resume(self) -> None:
        pass  # a pause doesn't stop this trace

    def advance(self) -> Segment:
        segment = super().advance()
        self.segments.append(segment)
        return segment

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        traced = super().record(site, inputs, a, b, kept, y)
        if not any(window.recording for window in self.windows):
            self.paused.add(traced[1])
        elif carries(site.op, y) and any(i[1] in self.active for i in inputs):
            self.active.add(traced[1])
        return traced


def settled(value: Any, span: Span) -> Any:
    """The plain value where nothing else will do, as for an index."""
    value = up_to(value, 0)
    if type(value) is tuple and isinstance(trace := value[2].trace, KeepingTrace):
        trace.settle(value, span)
    return primal(value)


def carries(op: Op, y: Any) -> bool:
    """Whether a gradient passes through an op that gave `y`."""
    inexact = type(y) in (float, complex, list) or getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")
    return op.differentiable and inexact
