"""The ancestry of values: the trace of a run that kept everything (`KeepingTrace`), indexed for
queries.

Each index is built at most once for a trace, or once for a target, in time proportional to the
trace, because hundreds of variables of one program may need an explanation.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from ...diagnostics import Span
from ..trace.keeping import KeepingTrace
from ..trace.tape import Traced
from ..trace.windows import STRIDE, inputs_of


class Way(NamedTuple):
    """The paths to a target from everything that it depends on.

    linked  the numbers that lead there through active records alone, so that gradients pass
    onward  for each number the next one on the path: a record, or a variable that it was assigned
            to
    """

    linked: set[int]
    onward: dict[int, int]


class Ancestry:
    """The index of a trace that kept everything and is complete."""

    def __init__(self, trace: KeepingTrace) -> None:
        self.trace = trace
        self._ways: dict[frozenset[int], Way] = {}

    def inputs(self, number: int) -> tuple[int, ...]:
        return self.trace.at(number).inputs

    def way_to(self, targets: Iterable[int]) -> Way:
        """Returns the paths to the targets."""
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
        """Returns the next number on the path by the earliest record, or by a variable's state if
        no record leads on.
        """
        onward: dict[int, int] = {}
        pending = list(targets)
        seen = set(targets)
        while pending:
            n = pending.pop()
            before = (
                self.inputs(n)
                if n >= 0
                else [traced[1] for traced, _, _ in self.trace.states.get(n, ())]
            )
            for m in before:
                known = onward.get(m)
                if known is None or known < 0 or 0 <= n < known:
                    onward[m] = n
                if m not in seen:
                    seen.add(m)
                    pending.append(m)
        return onward

    def behind(self, uses: Iterable[tuple[Traced, Span]]) -> dict[int, Span]:
        """Maps each number to the first use of something computed from it."""
        found: dict[int, Span] = {}
        for (_, number, _), span in uses:
            pending = [number]
            while pending:
                n = pending.pop()
                if n not in found:
                    found[n] = span
                    pending += (
                        self.inputs(n)
                        if n >= 0
                        else [traced[1] for traced, _, _ in self.trace.states.get(n, ())]
                    )
        return found

    @cached_property
    def first_use(self) -> dict[int, Span]:
        """Maps each number to the span of its first use."""
        found: dict[int, Span] = {}
        for segment in self.trace.segments:
            flat = segment.records
            for site, in0, in1 in zip(
                flat[::STRIDE], flat[1::STRIDE], flat[2::STRIDE], strict=True
            ):
                for n in inputs_of(in0, in1):
                    found.setdefault(n, site.span)
        for states in self.trace.states.values():
            for traced, span, _ in states:
                found.setdefault(traced[1], span)
        return found
