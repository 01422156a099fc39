"""The ancestry of the values of a run that kept everything (`KeepingTrace`): a graph that is asked from both ends.

What follows is made at most once for a trace, or once for a target, and in time proportional to the trace: a program of
hundreds of variables may have to be told about each of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from ...diagnostics import CallSite, Span
from ..trace.keeping import KeepingTrace
from ..trace.tape import STRIDE, Segment, Site, Traced
from ..trace.windows import inputs_of


class Record(NamedTuple):
    """A record, taken out of its segment: see Note [Records] in tape.py."""

    number: int
    site: Site
    inputs: tuple[int, ...]
    a: Any
    b: Any
    y: Any
    segment: Segment

    @property
    def operands(self) -> tuple[Any, ...]:
        """The primals of all operands, active or not; what wasn't kept is a `Blank`."""
        if self.site.narrow:
            return (self.a, self.b)[: len(self.site.op.signature.operands)]
        return tuple(self.a)

    @property
    def calls(self) -> tuple[CallSite, ...]:
        return self.segment.calls_to(self.number)

    def traced_operands(self) -> Iterator[tuple[int, int]]:
        """The operands that the trace knows: index and number."""
        return zip(self.site.operands, self.inputs, strict=True)


class Way(NamedTuple):
    """How a target is reached, from everything that it depends on.

    linked  what leads there through active records alone, so that gradients pass
    onward  from each number the next one on the way there: a record, or a variable whose state it went into
    """

    linked: set[int]
    onward: dict[int, int]


class Ancestry:
    """A trace that kept everything; it must not grow any more."""

    def __init__(self, trace: KeepingTrace) -> None:
        self.trace = trace
        self._segments = [segment for segment in trace.segments if segment.records]
        self._firsts = [segment.first for segment in self._segments]
        self._ways: dict[frozenset[int], Way] = {}

    def record(self, number: int) -> Record:
        segment = self._segments[bisect_right(self._firsts, number) - 1]
        k = (number - segment.first) * STRIDE
        site, in0, in1, a, b, y = segment.records[k : k + STRIDE]
        return Record(number, site, inputs_of(in0, in1), a, b, y, segment)

    def witness(self, value: Any) -> Record | None:
        """The operation on plain numbers that made this, which isn't finite; None where it was written so."""
        made = self.trace.witness_of(value)
        return None if made is None else Record(made.number, made.site, (), made.a, made.b, made.y, self.trace.leaves)

    def inputs(self, number: int) -> tuple[int, ...]:
        segment = self._segments[bisect_right(self._firsts, number) - 1]
        k = (number - segment.first) * STRIDE
        return inputs_of(segment.records[k + 1], segment.records[k + 2])

    def way_to(self, targets: Iterable[int]) -> Way:
        """How the targets are reached."""
        wanted = frozenset(targets)
        if wanted not in self._ways:
            linked = set(wanted)
            pending = [n for n in wanted if n >= 0 and n in self.trace.active]
            while pending:
                for n in self.inputs(pending.pop()):
                    if n not in linked:
                        linked.add(n)
                        if n >= 0 and n in self.trace.active:
                            pending.append(n)
            self._ways[wanted] = Way(linked & self.trace.active, self._onward(wanted))
        return self._ways[wanted]

    def _onward(self, targets: frozenset[int]) -> dict[int, int]:
        """Of several ways on the one by the earliest record, and by a state only where no record leads on."""
        onward: dict[int, int] = {}
        pending = list(targets)
        seen = set(targets)
        while pending:
            n = pending.pop()
            before = self.inputs(n) if n >= 0 else [traced[1] for traced, _, _ in self.trace.states.get(n, ())]
            for m in before:
                known = onward.get(m)
                if known is None or known < 0 or 0 <= n < known:
                    onward[m] = n
                if m not in seen:
                    seen.add(m)
                    pending.append(m)
        return onward

    @cached_property
    def decided(self) -> dict[int, Span]:
        """By number the first condition that was decided by what depends on it."""
        return self._behind(self.trace.conditions)

    @cached_property
    def chosen(self) -> dict[int, Span]:
        """The same of indices, shapes and counts."""
        return self._behind(self.trace.choices)

    def _behind(self, uses: Iterable[tuple[Traced, Span]]) -> dict[int, Span]:
        found: dict[int, Span] = {}
        for (_, number, _), span in uses:
            pending = [number]
            while pending:
                n = pending.pop()
                if n not in found:
                    found[n] = span
                    pending += self.inputs(n) if n >= 0 else [traced[1] for traced, _, _ in self.trace.states.get(n, ())]
        return found

    @cached_property
    def first_use(self) -> dict[int, Span]:
        """By number where it is used first."""
        found: dict[int, Span] = {}
        for segment in self._segments:
            flat = segment.records
            for site, in0, in1 in zip(flat[::STRIDE], flat[1::STRIDE], flat[2::STRIDE], strict=True):
                for n in inputs_of(in0, in1):
                    found.setdefault(n, site.span)
        for states in self.trace.states.values():
            for traced, span, _ in states:
                found.setdefault(traced[1], span)
        return found
