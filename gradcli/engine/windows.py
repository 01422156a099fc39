"""Windows: how tapes look at the one trace. A window holds numbers and watch sets, never records.

The main tape, a `tape` block and every other way to ask for a gradient are windows over the same records: which of them
count (`ranges`, with holes where it was paused), and from which leaves (`watch`, and all trainable variables where the
window is `automatic`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tape import Segment, Trace
    from .values import Variable


STRIDE = 6  # entries of a record: see Note [Records] in tape.py


class Window:
    """A view of a trace.

    ranges     the numbers of the records that count: [first, end) each; the last has no end while the window records
    watch      the numbers that were watched explicitly: leaves, or values that the trace has
    watched    the variables among these; their watch ends with the window
    automatic  whether trainable variables are watched when they are used
    uses       the variables that were used, in order of first use
    recording  whether it records now: its block is open, and not paused
    """

    __slots__ = ("automatic", "name", "persistent", "ranges", "recording", "spent", "trace", "uses", "watch", "watched")

    def __init__(self, trace: Trace, name: str = "", automatic: bool = True, persistent: bool = True) -> None:
        self.trace, self.name, self.automatic, self.persistent = trace, name, automatic, persistent
        self.ranges: list[tuple[int, int | None]] = []
        self.watch: set[int] = set()
        self.watched: list[Variable] = []
        self.uses: dict[Variable, None] = {}
        self.recording = False
        self.spent = False  # whether a gradient was asked for

    # ---- what it covers ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.recording = True
        self.ranges.append((self.trace.number, None))

    def end(self) -> None:
        if self.recording:
            self.recording = False
            self.ranges[-1] = (self.ranges[-1][0], self.trace.number)

    def covers(self, number: int) -> bool:
        """Whether the record `number` was made while this window was recording."""
        return any(first <= number and (end is None or number < end) for first, end in self.ranges)

    def sees_leaf(self, number: int) -> bool:
        """Whether the leaf `number` is watched here."""
        return number in self.watch or (self.automatic and number in self.trace.variables)

    def sees_all(self) -> bool:
        """Whether everything on the trace is this window's, so that there is nothing to leave out."""
        whole = len(self.ranges) == 1 and self.ranges[0] == (0, None)
        return whole and self.automatic and self.trace.watched <= self.trace.variables | self.watch

    def marks(self, segments: list[Segment], wanted: set[int]) -> set[int]:
        """What depends, inside this window, on the sources in `wanted`: the sources themselves, where they are this
        window's, and the records."""
        seen = {n for n in self.trace.watched if self.sees_leaf(n)} | self.watch  # depends on something watched here
        marked = wanted & seen
        for number, in0, in1 in self._records(segments):
            inputs = inputs_of(in0, in1)
            if seen.isdisjoint(inputs):
                continue
            seen.add(number)
            if number in wanted or not marked.isdisjoint(inputs):
                marked.add(number)
        return marked

    def _records(self, segments: list[Segment]) -> Iterator[tuple[int, Any, int | None]]:
        """The records that count, in execution order: number and inputs."""
        for segment in reversed(segments):
            for first, end in self.ranges:
                start = max(first, segment.first) - segment.first
                stop = min(len(segment), (self.trace.number if end is None else end) - segment.first)
                if start < stop:
                    part = segment.records[start * STRIDE : stop * STRIDE]
                    yield from zip(
                        range(segment.first + start, segment.first + stop), part[1::STRIDE], part[2::STRIDE], strict=True
                    )

    def first_number(self) -> int:
        return self.ranges[0][0] if self.ranges else self.trace.number


def inputs_of(in0: Any, in1: int | None) -> tuple[int, ...]:
    """The numbers of a record's active operands: see Note [Records] in tape.py."""
    return in0 if type(in0) is tuple else (in0,) if in1 is None else (in0, in1)


def dependents(segments: list[Segment], wanted: set[int]) -> set[int]:
    """The records that depend on one that is wanted."""
    marked = set(wanted)
    for segment in reversed(segments):
        records = segment.records
        if len(records) == STRIDE:  # a function of one expression
            if not marked.isdisjoint(inputs_of(records[1], records[2])):
                marked.add(segment.first)
            continue
        for number, (in0, in1) in enumerate(zip(records[1::STRIDE], records[2::STRIDE], strict=True), segment.first):
            if in0 in marked or in1 in marked or (type(in0) is tuple and not marked.isdisjoint(in0)):
                marked.add(number)
    return marked
