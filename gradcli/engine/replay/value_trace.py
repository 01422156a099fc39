"""The trace of a program whose values `check` evaluates again at other points."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ...diagnostics import Span
from ..trace.keeping import KeepingTrace
from ..trace.records import record_in
from ..trace.tape import Segment, Site, Traced
from ..values.lanes import Lanes

MAX_CONDITIONS = 20_000  # conditions that a trace keeps; each holds its history
FEW_ROWS = 64  # `vmap` over up to so many rows is recorded row by row
MAX_SWEEPS, SWEEPS_A_PLACE = 40, 2  # requests for derivatives that are noted
PATIENCE = 60  # a run made for its requests ends after so many in a row that are not noted


class EnoughError(Exception):
    """Raised to end a run that is made for its requests for derivatives, once enough are noted."""


class ValueTrace(KeepingTrace):
    """A keeping trace for a program that is evaluated again. Memory follows the values, as usual,
    except that operands of conditions are kept.

    updated  the variables that have had more than one state
    work     the work of the run, in operations on numbers: 200 elements count as one operation
    elements the numbers that its operations gave
    sweeps   the derivatives that the program requested, as targets and the numbers of the sources;
             a few for each place
    patience the number of requests until one is noted, after which the run is ended; infinite for
             other runs
    """

    __slots__ = (
        "_noted_at", "elements", "patience", "rows_one_by_one", "sweeps", "updated", "work",
    )  # fmt: skip
    sees_plain = False  # nobody asks this trace about values that aren't finite

    def __init__(self, rows_one_by_one: int = FEW_ROWS) -> None:
        super().__init__()
        self.rows_one_by_one = rows_one_by_one
        self.segments = []
        self.updated: set[int] = set()
        self.work, self.elements = 0.0, 0
        self.patience = math.inf
        self.room = 2**62
        self.sweeps: list[tuple[list[Traced], set[int]]] = []
        self._noted_at: Counter[Any] = Counter()

    def advance(self) -> Segment:
        segment = super().advance()
        self.segments.clear()  # nobody asks this trace for reasons
        self.firsts.clear()
        return segment

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        size = 1 if type(y) is float else getattr(y, "size", 1)
        self.work += 1.0 + size / 200
        self.elements += size
        return super().record(site, inputs, a, b, kept, y)

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
        place = record_in(segment, number).site if number >= 0 else None
        self._noted_at[place] += 1
        if place is not None and self._noted_at[place] <= SWEEPS_A_PLACE:
            self.sweeps.append((targets, wanted))
            self.patience = max(self.patience, PATIENCE)

    def left(self, number: int, value: Any, span: Span, how: str) -> None:
        self.updated.add(number)
