"""The second keeping policy of the trace, for runs that are asked why: everything is kept, and
nothing released."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...diagnostics import Span
from ...ops.op import Op
from ..backends.backend import is_inexact
from .records import Record, record_in
from .tape import Leaf, Segment, Site, Trace, Traced

ROOM = 2**29  # bytes of values that no rule reads
MOST = 10_000  # notes of what isn't finite
RECENT = 100  # of these, how many are compared with a new one


class KeepingTrace(Trace):
    """The second keeping policy: every operation on anything declared is recorded, active or not,
    and nothing is released.

    A value that is traced here may have no gradient; `active` holds the numbers of those that have,
    and `watched_constants` those of them whose own history is none: a tape has watched what was a
    plain number. With the operands of conditions and the histories of states, that is what
    `reasons.py` needs to tell where a chain breaks. Where everything is paused it goes on
    recording, and notes the numbers in `paused`. `declined` has the inputs for which a function's
    own rule returned none, with the call's site and the rule. `iterations` are those of loops, in
    the order in which they began.

    Records have all operands and results, whether a rule reads them or not, as long as there is
    `room`; and `witnessed` has the nans and infinities that plain numbers gave, with what made
    them.
    """

    __slots__ = (
        "active", "choices", "conditions", "declined", "firsts", "iterations", "paused", "room",
        "segments", "states", "watched_constants", "witnessed",
    )  # fmt: skip
    keeps_all = True
    sees_plain = True

    def __init__(self) -> None:
        super().__init__()
        self.room = ROOM
        self.witnessed: list[tuple[Any, Record]] = []
        self.active: set[int] = set()
        self.watched_constants: set[int] = set()
        self.paused: set[int] = set()
        self.declined: dict[int, tuple[Site, Any]] = {}
        self.iterations: list[Iteration] = []
        self.segments: list[Segment] = [] if self.segment is None else [self.segment]
        self.firsts = [segment.first for segment in self.segments]
        # what indices, shapes and counts were decided by, and where
        self.choices: list[tuple[Traced, Span]] = []
        # what conditions were decided by, and where
        self.conditions: list[tuple[Traced, Span]] = []
        # by variable, what its states were made of, where, and how
        self.states: dict[int, list[tuple[Traced, Span, str]]] = {}

    def leaf(self, primal: Any, number: int | None = None, origin: Leaf | None = None) -> Traced:
        traced = super().leaf(primal, number, origin)
        if origin is None:
            self.active.add(traced[1])
        return traced

    def begin_at(self, number: int) -> None:
        """Gives gradients to a value that a tape watches; to a constant only from now on."""
        if number not in self.active:
            self.active.add(number)
            self.watched_constants.add(number)

    def decide(self, condition: Traced, span: Span) -> bool | None:
        """Notes what decides a path; a subclass may force the outcome, whatever the condition's
        value."""
        self.conditions.append((condition, span))
        return None

    def begin_iteration(self, loop: Span) -> Iteration:
        """Notes that the body of a loop begins."""
        iteration = Iteration(loop, self.calls, self.number)
        self.iterations.append(iteration)
        return iteration

    def end_iteration(self, iteration: Iteration) -> None:
        iteration.end, iteration.after = self.number, len(self.iterations)

    def left(self, number: int, value: Any, span: Span, how: str) -> None:
        """Notes that a history ends, because its value became the state of a variable."""
        if type(value) is tuple:
            self.states.setdefault(number, []).append((value, span, how))

    def asked(self, targets: list[Traced], wanted: set[int]) -> None:
        """Called for every sweep, with its targets and sources. A subclass may note it."""

    def _resume(self) -> None:
        pass  # a pause doesn't stop this trace

    def advance(self) -> Segment:
        segment = super().advance()
        self.segments.append(segment)
        self.firsts.append(segment.first)
        return segment

    def at(self, number: int) -> Record:
        """The record of this number."""
        return record_in(self.segments[bisect_right(self.firsts, number) - 1], number)

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        traced = super().record(site, inputs, a, b, kept, y)
        self.room -= getattr(y, "nbytes", 8)
        if not (self.main.recording or any(window.recording for window in self.windows)):
            self.paused.add(traced[1])
            return traced
        for i in inputs:
            if i[1] in self.active:
                if carries(site.op, y):
                    self.active.add(traced[1])
                break
        return traced

    def witness(self, site: Site, primals: list[Any], options: Mapping[str, Any], y: Any) -> None:
        """Notes an op on plain numbers, which isn't recorded, if its result isn't finite."""
        if (
            self.room <= 0
            or len(self.witnessed) >= MOST
            or type(y) is list
            or not is_inexact(y)
            or _is_finite(y)
        ):
            return
        bad = [p for p in primals if not _is_finite(p)]
        if bad:
            maker = next(filter(None, map(self.witness_of, bad)), None)
        else:
            a, b = (*primals, None)[:2] if site.inline_operands else (tuple(primals), options)
            maker = Record(self.number, site, (), None, a, b, y, self.leaves)
        if maker is not None:
            self.witnessed.append((y, maker))

    def witness_of(self, value: Any) -> Record | None:
        """The op that made a plain number that isn't finite, as it would have been recorded, with
        the number of the next record; None where that isn't known, and for a literal."""
        maker: Record
        for y, maker in reversed(self.witnessed[-RECENT:]):
            if y is value or (
                type(y) is type(value) is float and (y == value or bool(y != y and value != value))
            ):
                return maker
        return None


@dataclass(slots=True)
class Iteration:
    """One execution of the body of a loop: the records from `begin` to `end`. `calls` is the chain
    of calls that the loop is in, and `after` the index of the first iteration that began later than
    all inside; None in both where an error ended it."""

    loop: Span
    calls: Any
    begin: int
    end: int | None = None
    after: int | None = None


def _is_finite(value: Any) -> bool:
    """Whether all elements are finite; that squares of them may overflow doesn't matter."""
    if not is_inexact(value):
        return True
    value = getattr(value, "array", value)  # of lanes
    finite = value - value == 0
    return bool(finite.all()) if hasattr(finite, "all") else bool(finite)


def carries(op: Op, y: Any) -> bool:
    """Whether a gradient passes through an op that gave `y`."""
    inexact = type(y) in (float, complex, list) or getattr(
        getattr(y, "dtype", None), "kind", ""
    ) in ("f", "c")
    return op.differentiable and inexact
