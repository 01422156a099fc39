"""The trace: what was computed from what, in execution order.

A *traced* value is a plain tuple `(primal, number, segment)`: its value, the running number of the
record that made it, and the segment that holds the record. It is a tuple, and no other value of the
language is one, because a tuple costs a quarter of what an instance with slots costs to make, and
the trace makes one an operation. A *leaf* (a variable) has a negative number and the segment
`trace.leaves`, which is always empty.

A record is six entries in a segment's flat list (see Note [Records]). Records go into segments of
about a thousand; a segment knows the earlier segments that its records read, and nothing else
points at it but the values it made. So memory follows the values: when the last value that could be
asked about goes, reference counting frees its history.
"""

from __future__ import annotations

import itertools
import weakref
from array import array
from typing import Any, TypeAlias

from ...diagnostics import CallSite, Span
from ...ops.op import Op
from .windows import STRIDE, Stretches, Window

Traced: TypeAlias = "tuple[Any, int, Segment]"

SEGMENT_RECORDS = 1000
ROOM = 744  # a segment with less room left isn't begun an iteration in: see Note [Turning over]
_NONE: Any = {}  # each table of a site until it has an entry: it is replaced, and never changed

leaf_numbers = itertools.count(1)  # of all leaves ever; a leaf has the negative


class Site:
    """Where records come from: an op at a place in the program, with the operands that are active
    there.

    operands  the indices of the active operands, as the record's inputs list them; () until `on`
              specialises it
    of        the op whose derivative this is, for records that a sweep makes; None for the
              program's own
    """

    __slots__ = (
        "_complex", "_on", "_others", "inline_operands", "of", "on_floats", "op", "operands",
        "pull", "reads", "shares", "span", "takes_complex",
    )  # fmt: skip

    def __init__(
        self, op: Op, span: Span, operands: tuple[int, ...] = (), of: Op | None = None
    ) -> None:
        self.op, self.span, self.operands, self.of = op, span, operands, of
        # the op as a function on floats, set when it first meets them (apply.py)
        self.on_floats: Any = None
        self.pull: Any = None  # the pullback on floats, set at the first sweep
        self.shares: dict[int, Any] | None = None  # how a recorded sweep passes it, by operand
        # what the rule reads: operands by index, and "result" (apply.py)
        self.reads: frozenset[int | str] | None = None
        # how its records are laid out: Note [Records]
        self.inline_operands = op.elementwise and len(op.signature.operands) <= 2
        self._on: dict[tuple[int, ...], Site] = _NONE
        self._others: dict[Op, Site] = _NONE
        # whether it gives floats of complex operands: `abs(z)`, `real(z)`
        self.takes_complex = False
        self._complex: Site | None = None

    def on(self, operands: tuple[int, ...]) -> Site:
        """Specialises this site to these active operands."""
        site = self._on.get(operands)
        if site is None:
            site = Site(self.op, self.span, operands, self.of)
            self._on = {**self._on, operands: site}
        return site

    def on_complex(self) -> Site:
        """Specialises this site to an op that gives a float for a complex operand."""
        if self._complex is None:
            self._complex = Site(self.op, self.span, self.operands, self.of)
            self._complex.takes_complex = True
        return self._complex

    def in_derivative(self, op: Op) -> Site:
        """The site of `op` inside the derivative of this one: same place, another operation."""
        return self.other(op, self.of or self.op)

    def other(self, op: Op, of: Op | None) -> Site:
        """The site of another operation at the same place, in the derivative of `of`, if any."""
        site = self._others.get(op)
        if site is None:
            site = Site(op, self.span, (), of)
            self._others = {**self._others, op: site}
        return site

    def __repr__(self) -> str:
        return f"<Site {self.op.name} at {self.span}>"


class Segment:
    """About a thousand records in execution order, numbered from `first`."""

    __slots__ = ("calls", "consumed", "earlier", "first", "records", "stretches", "trace")

    def __init__(self, trace: Trace, first: int, in_record: bool = False) -> None:
        self.trace = trace
        self.first = first
        self.records: list[Any] = []
        self.earlier: dict[Segment, None] = {}
        self.calls: list[tuple[int, Any]] = []  # (number, call chain from that number on)
        # what was made in `record` blocks
        self.stretches: Stretches = array("q", (first,) if in_record else ())
        # by position, and perhaps shorter: the `backward` that consumed a record
        self.consumed: list[Span | None] = []

    def reads(self, other: Segment) -> None:
        """Notes that a record here reads a value of `other`, which keeps that history alive."""
        if other is not self:
            other.read_by(self)

    def read_by(self, later: Segment) -> None:
        later.earlier[self] = None

    def holder(self, number: int) -> Segment:
        """The segment that made the value `number`, which a record here reads."""
        if number >= self.first:
            return self
        if number < 0:
            return self.trace.fresh.get(number, self.trace.leaves)
        holder = None
        for segment in self.earlier:
            if segment.first <= number and (holder is None or segment.first > holder.first):
                holder = segment
        assert holder is not None
        return holder

    def calls_to(self, number: int) -> tuple[CallSite, ...]:
        """The calls that led to the record `number` of this segment, the innermost first."""
        chain = next((chain for first, chain in reversed(self.calls) if first <= number), None)
        found = []
        while chain is not None:
            site, name, chain = chain
            found.append(CallSite(name or "fn", site.span))
        return tuple(found)

    def __len__(self) -> int:
        return len(self.records) // STRIDE


class Leaf(Segment):
    """The origin of a leaf: an empty segment, which notifies the open tapes when its variable is
    used.

    A variable's lives as long as the variable, and what was computed from it; then the trace
    forgets its number.
    """

    __slots__ = ("number", "owner")

    def __init__(self, trace: Trace, owner: Any = None) -> None:
        super().__init__(trace, 2**62)  # it is before nothing
        self.number = 0  # of the variable's leaf
        # a variable holds its leaf: no cycle, please
        self.owner = None if owner is None else weakref.ref(owner)

    def __del__(self) -> None:
        self.trace.watched.discard(self.number)
        self.trace.variables.discard(self.number)
        if self.owner is not None:
            for window in self.trace.windows:
                window.watch.discard(self.number)

    def read_by(self, later: Segment) -> None:
        later.earlier[self] = None
        for window in self.trace.windows[1:]:
            owner = self.owner() if self.owner is not None else None
            if owner is not None and window.recording and window.sees_leaf(owner.number):
                window.uses[owner] = None


class Trace:
    """The records of one level, and the windows that look at it.

    `level` is that of its values (`boxes.py`), 0 for the main trace, and `below` the trace of a
    lower one. `segment` is the current one, or None while no window records. `watched` holds the
    numbers of all leaves, `variables` those of trainable variables, which windows watch by
    themselves. `keeps_all` marks the second keeping policy (`KeepingTrace`) from the normal one,
    and `keeps_constants` whether even operations on nothing but constants are recorded,
    `sees_plain` whether it gets these; `room` is how many bytes it may still spend on values
    that no rule reads, and `rows_one_by_one` up to how many rows `vmap` calls its function for
    each.
    """

    __slots__ = (
        "below", "calls", "fresh", "leaves", "level", "limit", "main", "number", "recorders",
        "recordings", "requested", "segment", "swept", "switched", "variables", "watched",
        "windows",
    )  # fmt: skip
    keeps_all = False
    keeps_constants = False
    sees_plain = False
    rows_one_by_one = 0
    room = 0

    def __init__(self, level: int = 0, below: Trace | None = None) -> None:
        self.level, self.below = level, below
        self.leaves = Leaf(self)
        # the arguments of functions that transforms are calling: what they began
        self.fresh: dict[int, Segment] = {}
        self.number = 0  # of the next record
        self.requested = 0  # its number when a gradient of a value was last asked for
        self.limit = SEGMENT_RECORDS  # the number at which the next segment begins
        self.segment: Segment | None = Segment(self, 0)
        self.watched: set[int] = set()
        self.variables: set[int] = set()
        self.calls: Any = None  # the chain of calls being executed: (call site, outer chain)
        self.swept = False  # whether any record was made by a sweep
        self.switched = 0  # how often a window began or ended recording
        self.recorders = 0  # `record` blocks that record
        self.recordings = 0  # calls of functions that transforms make now
        self.main = Window(self)
        self.windows: list[Window] = []  # the open ones, the main tape first
        self.open(self.main)

    def leaf(self, primal: Any, number: int | None = None, origin: Leaf | None = None) -> Traced:
        """Makes a value with no history. A variable's keeps its `number` when its state changes,
        and its `origin` notifies the windows when it is used; without an origin it is a value that
        the main tape watches."""
        if number is None:
            number = -next(leaf_numbers)
        self.watched.add(number)
        if origin is None:
            self.main.watch.add(number)
            origin = self.leaves
        return primal, number, origin

    # ---- windows ---------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """How many derivatives are being recorded, one inside the other. The main tape
        counts only once variables are used."""
        main = self.main.recording and not self.variables
        return self.recordings + sum([window.recording for window in self.windows]) - main

    def open(self, window: Window) -> None:
        self.windows.append(window)
        window.begin()
        if self.segment is None:
            self.advance()

    def close(self, window: Window) -> None:
        window.end()
        if self.windows[-1] is window:
            self.windows.pop()
        else:
            self.windows.remove(window)
        if not self.main.recording:
            self._resume()

    def pause(self, windows: list[Window]) -> list[Window]:
        """Stops recording for `windows`; returns those that did record, for `resume`."""
        paused = [window for window in windows if window.recording]
        for window in paused:
            window.end()
        self._resume()
        return paused

    def resume(self, windows: list[Window]) -> None:
        for window in windows:
            window.begin()
        self._resume()

    def _resume(self) -> None:
        self.switched += 1
        recording = any(window.recording for window in self.windows)
        if recording and self.segment is None:
            self.advance()
        elif not recording:
            self.segment = None

    def release(self) -> None:
        """Breaks the reference cycles of a level that has ended, because nothing collects them
        while a program runs."""
        self.segment = None
        self.windows.clear()
        self.fresh.clear()
        del self.main, self.leaves

    # ---- records ---------------------------------------------------------------------------------

    def advance(self) -> Segment:
        """Begins a new segment; called when the current one is full."""
        self.limit = self.number + SEGMENT_RECORDS
        segment = self.segment = Segment(self, self.number, self.recorders > 0)
        if self.calls is not None:
            segment.calls.append((self.number, self.calls))
        return segment

    def turn_over(self) -> None:
        """Begins a new segment for an iteration of a loop: see Note [Turning over]."""
        if self.segment is not None and self.segment.records:
            self.advance()

    def record(self, site: Site, inputs: list[Traced], a: Any, b: Any, kept: Any, y: Any) -> Any:
        """Appends a record, and returns the traced result; the plain `y` while recording is paused.

        `inputs` are the active operands, as `site.operands` lists them. See Note [Records] for `a`
        and `b`; `kept` is what the record keeps of the result.
        """
        segment = self.segment
        if segment is None:
            return y
        if len(inputs) == 1:
            in0: Any = inputs[0][1]
            in1: int | None = None
        elif len(inputs) == 2:
            in0, in1 = inputs[0][1], inputs[1][1]
        else:
            in0, in1 = tuple(i[1] for i in inputs), None
        number = self.number
        if number >= self.limit:
            segment = self.advance()
        for traced in inputs:
            if traced[2] is not segment:
                segment.reads(traced[2])
        self.number = number + 1
        segment.records.extend((site, in0, in1, a, b, kept))
        return y, number, segment

    def enter(self, chain: Any) -> None:
        """Notes that the records that follow have another chain of calls."""
        self.calls = chain
        segment = self.segment
        if segment is not None:
            calls = segment.calls
            if calls and calls[-1][0] == self.number:
                # nothing was recorded in between: memory stays put
                calls[-1] = (self.number, chain)
            else:
                calls.append((self.number, chain))


def reachable(targets: list[Segment], oldest: int) -> list[Segment]:
    """The segments that `targets` depend on, newest first, as far back as the record `oldest`."""
    found: dict[int, Segment] = {}
    pending = list(targets)
    while pending:
        segment = pending.pop()
        if id(segment) in found or type(segment) is Leaf:
            continue
        if segment.first + len(segment) <= oldest:
            continue
        found[id(segment)] = segment
        pending.extend(segment.earlier)
    return sorted(found.values(), key=lambda s: s.first, reverse=True)


# Note [Records]
#
# A record is (site, in0, in1, a, b, y), six entries of the segment's flat list: 48 bytes, and what
# the rule saves.
#   in0, in1   the numbers of the active operands (in1 None for one); in0 is a tuple of numbers for
#              three or more
#   a, b       with `inline_operands` (elementwise ops of one or two): the operands' primals. Wide
#              records: the tuple of all operands' primals, and the dict of options (an index alone
#              stands for itself).
#   y          the result's primal
# What the rule doesn't read is a `Blank` where it is an array, so that memory follows what is
# needed.
#
# Note [Turning over]
#
# Where an iteration's records cross from one segment into the next, the next refers to the first.
# If the following iteration began in that same segment, it would keep its predecessor alive, that
# one its own, and a training loop would never release anything. So a loop begins an iteration in a
# new segment if the current one began in the middle of the iteration before, or has no room for
# another of some size. A loop's test is two comparisons: a segment that began at `first` has the
# limit `first + SEGMENT_RECORDS`.
