"""The window of one `backward`: the recorded operations between its heads and the attached
variables.
"""

from __future__ import annotations

from collections.abc import Set

from ...diagnostics import Span
from ..trace.keeping import KeepingTrace
from ..trace.tape import Segment, Site, Traced, reachable
from ..trace.windows import STRIDE, Window, inputs_of, stretch_at


class BackwardWindow(Window):
    """A window that sees what `record` recorded between the heads of a `backward` and the attached
    variables.

    marked   the numbers of these operations, and of the variables that they lead to
    steps    the operations' numbers by segment: newest segment first, in it the oldest number first
    leaves   all leaves that the heads depend on
    outside  the newest operation on the way back that no `record` block recorded, where the way
             ends
    """

    __slots__ = ("leaves", "marked", "outside", "steps")

    def __init__(self, heads: list[Traced], attached: Set[int]) -> None:
        super().__init__(heads[0][2].trace, automatic=False)
        self.steps: list[tuple[Segment, list[int]]] = []
        self.outside: Site | None = None
        self.leaves = self._walk_back(heads)
        self.marked = set(self.leaves & attached)
        if self.outside is None and self.marked == self.leaves and not self.trace.keeps_all:
            for _, numbers in self.steps:  # every way back ends at an attached variable
                self.marked.update(numbers)
        else:
            self._mark()

    def _walk_back(self, heads: list[Traced]) -> set[int]:
        """Collects the operations that the heads depend on; returns the leaves among their
        inputs.
        """
        active = self.trace.active if isinstance(self.trace, KeepingTrace) else None
        pending = {head[1] for head in heads}
        for segment in reachable([head[2] for head in heads], 0):
            first, records = segment.first, segment.records
            newest = max(pending, default=-1)
            if newest < 0:
                break  # only leaves are left
            left = sum([number >= first for number in pending])
            inside, since = stretch_at(segment.stretches, newest)
            numbers: list[int] = []
            for number in range(newest, first - 1, -1):
                if number not in pending:
                    continue
                pending.remove(number)
                left -= 1
                if number < since:
                    inside, since = stretch_at(segment.stretches, number)
                k = (number - first) * STRIDE
                if active is not None and number not in active:
                    pass
                elif inside:
                    numbers.append(number)
                    for n in inputs_of(records[k + 1], records[k + 2]):
                        if n not in pending:
                            pending.add(n)
                            left += n >= first
                elif self.outside is None:
                    self.outside = records[k]
                if not left:
                    break
            if numbers:
                numbers.reverse()
                self.steps.append((segment, numbers))
        return pending

    def _mark(self) -> None:
        """Keeps, of the collected operations, those that depend on a variable in `marked`."""
        marked = self.marked
        for segment, numbers in reversed(self.steps):
            first, records = segment.first, segment.records
            kept = []
            for number in numbers:
                k = (number - first) * STRIDE
                in0, in1 = records[k + 1], records[k + 2]
                if (
                    in0 in marked
                    or in1 in marked
                    or (type(in0) is tuple and not marked.isdisjoint(in0))
                ):
                    marked.add(number)
                    kept.append(number)
            numbers[:] = kept

    def sees_all(self, wanted: set[int]) -> bool:
        return False

    def marks(self, segments: list[Segment], wanted: set[int]) -> tuple[set[int], set[int]]:
        return self.marked, set()

    def first_number(self) -> int:
        return self.steps[-1][0].first

    def consumed(self) -> tuple[Site, Span] | None:
        """Returns the newest operation that an earlier `backward` consumed, and the span of that
        `backward`.
        """
        for segment, numbers in self.steps:
            first, consumed = segment.first, segment.consumed
            for number in reversed(numbers) if consumed else ():
                k = number - first
                by = consumed[k] if k < len(consumed) else None
                if by is not None:
                    return segment.records[k * STRIDE], by
        return None

    def consume(self, by: Span) -> None:
        for segment, numbers in self.steps:
            segment.consumed += [None] * (len(segment) - len(segment.consumed))
            for number in numbers:
                segment.consumed[number - segment.first] = by
