"""The trace of a program that `check` evaluates again at other points."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ...diagnostics import Span
from ..trace.keeping import KeepingTrace, carries
from ..trace.tape import STRIDE, Segment, Site, Trace, Traced
from ..values.lanes import Lanes

MAX_CONDITIONS = 20_000  # that a trace keeps; each holds the history of what it was decided by
FEW_ROWS = 64  # of `vmap`, whose operations are kept for each row
MAX_SWEEPS = 40
SWEEPS_A_PLACE = 2
PATIENCE = 60  # sweeps in a row of which none was to be noted
NUMBER = 1.0 + 1 / 200  # what an operation on one takes: 200 elements count as one operation


class EnoughError(Exception):
    """A run that is for its sweeps alone has had those that are noted."""


class ValueTrace(KeepingTrace):
    """The second keeping policy for a program that is evaluated again. Memory follows the values,
    as usual, but for those that conditions were decided by.

    updated  the variables that have had more than one state
    work     what the run took, in operations on numbers
    passed   the operations that weren't recorded, because only a state was made of them
    sweeps   the derivatives that the program asked for: targets, and what by; some of each place
    patience how many more sweeps there may be until one is noted, before the run is ended; none for
             one that isn't for them
    """

    __slots__ = ("_told", "passed", "patience", "rows_one_by_one", "sweeps", "updated", "work")
    keeps_states = False
    sees_plain = False  # what isn't finite is not asked of this trace

    def __init__(self, rows_one_by_one: int = FEW_ROWS) -> None:
        super().__init__()
        self.rows_one_by_one = rows_one_by_one
        self.segments = []
        self.updated: set[int] = set()
        self.work, self.passed = 0.0, 0
        self.patience = math.inf
        self.room = 2**62
        self.sweeps: list[tuple[list[Traced], set[int]]] = []
        self._told: Counter[Any] = Counter()

    def advance(self) -> Segment:
        segment = super().advance()
        self.segments.clear()  # reasons are not asked of this trace
        return segment

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        self.work += NUMBER if type(y) is float else 1.0 + getattr(y, "size", 1) / 200
        # As KeepingTrace does, which sees to a room and to pauses that most programs don't need.
        if not self.main.recording or len(self.windows) > 1:
            return super().record(site, inputs, a, b, kept, y)
        traced = Trace.record(self, site, inputs, a, b, kept, y)
        active = self.active
        for i in inputs:
            if i[1] in active:
                if carries(site.op, y):
                    active.add(traced[1])
                break
        return traced

    def decide(self, condition: Traced, span: Span) -> bool | None:
        if len(self.conditions) < MAX_CONDITIONS:
            super().decide(condition, span)
        return None

    def asked(self, targets: list[Traced], wanted: set[int]) -> None:
        self.patience -= 1
        if self.patience < 0:
            raise EnoughError
        if (
            len(self.sweeps) >= MAX_SWEEPS
            or self.level
            or any(type(t[0]) is Lanes for t in targets)
        ):
            return
        number, segment = targets[0][1:]
        place = segment.records[(number - segment.first) * STRIDE] if number >= 0 else None
        self._told[place] += 1
        if place is not None and self._told[place] <= SWEEPS_A_PLACE:
            self.sweeps.append((targets, wanted))
            self.patience = max(self.patience, PATIENCE)  # what is infinite stays so

    def pass_over(self, operations: int, value: Any) -> None:
        self.passed += operations
        self.work += operations * (1.0 + getattr(value, "size", 1) / 200)

    def left(self, number: int, value: Any, span: Span, how: str) -> None:
        self.updated.add(number)
