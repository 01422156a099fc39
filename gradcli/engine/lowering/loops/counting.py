"""`range` in IR: the number of its ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import Span
from ...ir.instructions import Check, Value
from ...ir.numbers import Numbers
from ...ir.types import I64
from ..builtins.reductions import Options
from ..held.names import NotCompiled
from ..held.ranges import Ints, Range, difference
from .growing import GrowingLists


class Counting(GrowingLists):
    """The lowering of `range`."""

    def range(self, operands: Sequence[Any], options: Options, span: Span) -> Ints:
        ends = [end for end in operands if end is not None]
        if any(getattr(end, "type", None) != I64 for end in ends):
            raise NotCompiled("`range` goes over ints", span)
        start = self.builder.constant(0) if len(ends) == 1 else ends[0]
        stop = ends[min(1, len(ends) - 1)]
        step = ends[2] if len(ends) == 3 else self.builder.constant(1)
        return Ints(Range(start, step, self.iterations(start, stop, step, span)))

    def iterations(self, start: Value, stop: Value, step: Value, span: Span) -> Value:
        """The number of ints in a range: none if it is negative."""
        size = self.builder.known.get(step)
        if size == 0:
            raise NotCompiled("a step of 0 is not compiled", span)
        if size is not None:
            return self.steps_between(start, stop, step, size > 0, span)
        zero = self.builder.constant(0)
        self.builder.add(Check(self.builder.apply("ne", [step, zero], span)))
        found: Value = self.either(
            self.builder.apply("gt", [step, zero], span),
            lambda: self.steps_between(start, stop, step, True, span),
            lambda: self.steps_between(start, stop, step, False, span),
            span,
        )
        return found

    def steps_between(self, start: Value, stop: Value, step: Value, up: bool, span: Span) -> Value:
        """The number of steps, up or down, from one int to another or beyond it."""
        low, high = (start, stop) if up else (stop, start)
        count = difference(self.builder, high, low, span)
        size = step if up else self.builder.apply("neg", [step], span)
        if self.builder.known.get(size) == 1:
            return count
        rounded_up = Numbers(self.builder, span).formula(lambda n, size: (n + (size - 1)) // size)
        return rounded_up(count, size)
