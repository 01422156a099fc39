"""The second keeping policy of the trace, for runs that are asked why: everything is kept, and nothing released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import Span
from ..ops import OPS
from ..ops.op import Op
from .backends import Backend, is_inexact
from .tape import Leaf, Segment, Site, Trace, Traced

SETITEM = OPS["setitem"]


class KeepingTrace(Trace):
    """The second keeping policy: every operation on anything declared is recorded, active or not, and nothing is released.

    A value that is traced here may have no gradient; `active` holds the numbers of those that have. With the operands of
    conditions and the histories of states, that is what `reasons.py` needs to tell where a chain breaks. Where everything
    is paused it goes on recording, and notes the numbers in `paused`. `declined` has the inputs for which a function's own
    rule returned none, with the call's site and the rule.

    `room` is how many bytes it may spend on values that no rule reads; with any, it also records what makes a nan or an
    infinity of plain numbers.
    """

    __slots__ = ("active", "conditions", "declined", "executed", "paused", "room", "segments", "states")
    keeps_all = True

    def __init__(self) -> None:
        super().__init__()
        self.room = 0
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

    def saved(self, op: Op, reads: frozenset[int | str], n: int, y: Any) -> frozenset[int | str]:
        """What a record of an op of `n` operands keeps: what its rule reads, and all else where there is room. An array that
        is written into is not held, or each write would copy it."""
        if self.room <= 0 or op is SETITEM:
            return reads
        self.room -= getattr(y, "nbytes", 8)
        return frozenset(("result", *range(n)))

    def witness(self, backend: Backend, site: Site, primals: list[Any], options: Mapping[str, Any], y: Any) -> Any:
        """What an op gave for plain numbers: recorded where it isn't finite."""
        if self.room <= 0 or self.segment is None or type(y) is list or not is_inexact(y) or backend.is_finite(y):
            return y
        a, b = (*primals, None)[:2] if site.narrow else (tuple(primals), options)
        return self.record(site.on(()), [], a, b, y, y)


def carries(op: Op, y: Any) -> bool:
    """Whether a gradient passes through an op that gave `y`."""
    inexact = type(y) in (float, complex, list) or getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")
    return op.differentiable and inexact
