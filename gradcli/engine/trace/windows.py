"""Windows: how tapes look at the one trace. A window holds numbers and watch sets, never records.

The main tape, a `tape` block and every other way to ask for a gradient are windows over the same
records: which of them count (`ranges`, with holes where it was paused), and from which leaves
(`watch`, and all trainable variables where the window is `automatic`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, TypeAlias
from weakref import WeakSet

Trace: TypeAlias = Any  # what windows look at is above them: see tape.py
Segment: TypeAlias = Any

STRIDE = 6  # entries of a record: see Note [Records] in tape.py

# Numbers that belong together, as the ends of stretches: [first, end) each, the last perhaps
# without an end. A loop that pauses may make a stretch a step, so they are packed, and searched by
# bisection.
Stretches: TypeAlias = "array[int]"


class Window:
    """A view of a trace.

    ranges     the numbers of the records that count: stretches, the last of which has no end while
               the window records
    watch      the numbers that were watched explicitly: leaves, or values that the trace has
    late       of these, the ones that something may have been made of before: the number of the
               first record that counts
    watched    the variables among these, those that still exist; their watch ends with the window
    automatic  whether trainable variables are watched when they are used
    uses       the variables that were used, in order of first use
    recording  whether it records now: its block is open, and not paused
    """

    __slots__ = (
        "automatic", "late", "name", "persistent", "ranges", "recording", "spent", "trace", "uses",
        "watch", "watched",
    )  # fmt: skip

    def __init__(
        self, trace: Trace, name: str = "", automatic: bool = True, persistent: bool = True
    ) -> None:
        self.trace, self.name, self.automatic, self.persistent = trace, name, automatic, persistent
        self.ranges: Stretches = array("q")
        self.watch: set[int] = set()
        self.late: dict[int, int] = {}
        self.watched: WeakSet[Any] | None = None
        self.uses: dict[Any, None] = {}
        self.recording = False
        self.spent = False  # whether a gradient was asked for

    def view(self) -> Window:
        """Returns a window with the records and the watch set that this one has now."""
        view = Window(self.trace, self.name, self.automatic)
        view.ranges, view.watch, view.late = self.ranges[:], self.watch, self.late
        return view

    # ---- what it covers --------------------------------------------------------------------------

    def begin(self) -> None:
        self.recording = True
        switch(self.ranges, self.trace.number)

    def end(self) -> None:
        if self.recording:
            self.recording = False
            switch(self.ranges, self.trace.number)

    def add(self, number: int, new: bool = False) -> None:
        """Watches a leaf or a value from now on; `new` where nothing can have been made of it
        yet."""
        if not new and not self.sees_leaf(number) and self.trace.number > self.first_number():
            self.late[number] = self.trace.number
            self.trace.switched += 1
        self.watch.add(number)

    def reset(self) -> None:
        """Forgets what was recorded and watched; recording goes on from here, if it did."""
        del self.ranges[:]
        self.watch.clear()
        self.late.clear()
        self.uses.clear()
        self.spent = False
        if self.recording:
            self.begin()

    def covers(self, number: int) -> bool:
        """Whether the record `number` was made while this window was recording."""
        return stretch_at(self.ranges, number)[0]

    def sees_leaf(self, number: int) -> bool:
        """Whether the leaf `number` is watched here."""
        return number in self.watch or (self.automatic and number in self.trace.variables)

    def sees_all(self, wanted: set[int]) -> bool:
        """Whether everything on the trace that depends on the wanted sources counts in this
        window."""
        if not (len(self.ranges) == 1 and self.ranges[0] == 0 and self.automatic) or self.late:
            return False
        variables, watch = self.trace.variables, self.watch
        for n in wanted:
            if n >= 0 or not (n in variables or n in watch):
                return bool(self.trace.watched <= variables | watch)
        return True

    def marks(self, segments: list[Segment], wanted: set[int]) -> tuple[set[int], set[int]]:
        """Marks what depends, inside this window, on the sources in `wanted`: the sources
        themselves, where they are this window's, and the records. And the sources that this window
        didn't make, though they may have a history.

        Of a source that was watched late nothing depends that was made before, so that is asked for
        alone.
        """
        # depends on something watched here
        seen = {n for n in self.trace.watched if self.sees_leaf(n)} | self.watch
        late = sorted(((since, n) for n, since in self.late.items()), reverse=True)
        seen.difference_update(self.late)
        marked, made = wanted & seen, set()
        for number, in0, in1 in self._records(segments):
            while late and late[-1][0] <= number:
                begun = late.pop()[1]
                seen.add(begun)
                marked.update(wanted & {begun})
            inputs = inputs_of(in0, in1)
            if seen.isdisjoint(inputs):
                continue
            seen.add(number)
            if number in wanted:
                made.add(number)
                marked.add(number)
            elif not marked.isdisjoint(inputs):
                marked.add(number)
        marked.update(wanted & {n for _, n in late})
        return marked, {n for n in wanted if n >= 0 and n not in made}

    def _records(self, segments: list[Segment]) -> Iterator[tuple[int, Any, int | None]]:
        """The records that count, in execution order: number and inputs."""
        ranges = self.ranges
        for segment in reversed(segments):
            past = segment.first + len(segment)
            start, k = segment.first, bisect_right(ranges, segment.first)
            while start < past:
                end = min(past, ranges[k]) if k < len(ranges) else past
                if k % 2:
                    part = segment.records[
                        (start - segment.first) * STRIDE : (end - segment.first) * STRIDE
                    ]
                    yield from zip(range(start, end), part[1::STRIDE], part[2::STRIDE], strict=True)
                start, k = end, k + 1

    def first_number(self) -> int:
        return self.ranges[0] if self.ranges else self.trace.number


class RecordWindow(Window):
    """The window of a `record` block: it watches nothing, and the trace's segments note where it
    records."""

    __slots__ = ()

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace, automatic=False)

    def begin(self) -> None:
        super().begin()
        self._switch(1)

    def end(self) -> None:
        if self.recording:
            self._switch(-1)
        super().end()

    def _switch(self, more: int) -> None:
        trace, before = self.trace, self.trace.recorders
        trace.recorders += more
        if trace.segment is not None and (before == 0 or trace.recorders == 0):
            switch(trace.segment.stretches, trace.number)


def switch(stretches: Stretches, number: int) -> None:
    """Begins a stretch at `number`, or ends the one that is open."""
    if stretches and stretches[-1] == number:
        stretches.pop()  # nothing came in between: memory stays put
    else:
        stretches.append(number)


def stretch_at(stretches: Stretches, number: int) -> tuple[bool, int]:
    """Whether a stretch covers `number`, and since which number that is so."""
    k = bisect_right(stretches, number)
    return k % 2 == 1, stretches[k - 1] if k else 0


def inputs_of(in0: Any, in1: int | None) -> tuple[int, ...]:
    """The numbers of a record's active operands: see Note [Records] in tape.py."""
    return in0 if type(in0) is tuple else (in0,) if in1 is None else (in0, in1)


def operands_of(site: Any, a: Any, b: Any) -> Any:
    """The operands that a record keeps: see Note [Records] in tape.py."""
    return (a, b)[: len(site.op.signature.operands)] if site.inline_operands else a


def dependents(
    segments: list[Segment], wanted: set[int], targets: set[int] | None = None
) -> set[int]:
    """The records that depend on a wanted one; with `targets`, only those that can be in the
    history of these."""
    marked = set(wanted)
    history = _history(segments[0], targets) if segments and targets else None
    if history is not None:
        for number, in0, in1 in reversed(history):
            if (
                in0 in marked
                or in1 in marked
                or (type(in0) is tuple and not marked.isdisjoint(in0))
            ):
                marked.add(number)
        return marked
    for segment in reversed(segments):
        records = segment.records
        if len(records) == STRIDE:  # a function of one expression
            if not marked.isdisjoint(inputs_of(records[1], records[2])):
                marked.add(segment.first)
            continue
        for number, (in0, in1) in enumerate(
            zip(records[1::STRIDE], records[2::STRIDE], strict=True), segment.first
        ):
            if (
                in0 in marked
                or in1 in marked
                or (type(in0) is tuple and not marked.isdisjoint(in0))
            ):
                marked.add(number)
    return marked


SHORT = (
    200  # records: it takes less to look at some of the last ones twice than at all of a segment
)


def _history(segment: Segment, targets: set[int]) -> list[tuple[int, Any, int | None]] | None:
    """The records that the targets depend on, newest first; None unless all are among the last few
    of one segment, as those of an iteration of a loop are."""
    first, records = segment.first, segment.records
    needed = set(targets)
    newest = max(needed)
    if min(needed) < first or newest >= first + len(segment):
        return None
    history = []
    for number in range(newest, max(newest - SHORT, first - 1), -1):
        if number not in needed:
            continue
        needed.remove(number)
        k = (number - first) * STRIDE
        in0, in1 = records[k + 1], records[k + 2]
        history.append((number, in0, in1))
        for n in inputs_of(in0, in1):
            if n >= first:
                needed.add(n)
            elif n >= 0:  # in a segment before
                return None
        if not needed:
            return history
    return None
