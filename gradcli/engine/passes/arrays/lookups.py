"""Interpolation at one point as operations on elements. The code of the table, for arrays of any
size, takes microseconds to call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, ClassVar

from ...ir.instructions import Check, Value
from ...ir.types import F64, I64, ArrayType, Type, dimensions, element_of
from .writing import Writer


class Lookups(Writer):
    """Writes interpolation at one point."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        """Whether all are numbers or vectors of float64 or int64."""
        return all(len(dimensions(kind)) <= 1 and element_of(kind) in (F64, I64) for kind in kinds)

    def at(self, vector: Value, place: Value) -> Value:
        """An element as a float."""
        return self.builder.cast(self.builder.element(vector, place), F64)

    def segment(self, x: Value, points: Value, verified: bool = False) -> Value:
        """The number of the segment between points that a number lies in: at a point the one to its
        right, outside the next. `verified`: steps back unless the points ascend."""
        builder, n = self.builder, points.array_type.size

        def reach(place: Value, carried: Sequence[Value]) -> list[Value]:
            (count, ascend, last), point = carried, self.at(points, place)
            more = self.op("add", count, self.number(1))
            reached = self.op("where", self.op("gt", point, x), count, more)  # nan reaches all
            follows = self.op("where", ascend, self.op("ge", point, last), ascend)
            return [reached, follows, point]

        first = [self.number(0), self.number(True), self.number(-inf)]
        count, ascend, _ = builder.loop(self.number(n), first, reach)
        if verified:
            builder.add(Check(ascend))
        before = self.op("sub", count, self.number(1))
        return self.op("clip", before, self.number(0), self.number(max(n - 2, 0)))

    def interp(self, x: Value, points: Value, values: Value) -> Value | None:
        """As NumPy has it. Steps back where a line gives nan."""
        if isinstance(x.type, ArrayType):
            return None
        n, x = points.array_type.size, self.builder.cast(x, F64)
        left = self.segment(x, points, verified=True)
        right = self.op("minimum", self.op("add", left, self.number(1)), self.number(n - 1))
        start, stop = self.at(points, left), self.at(points, right)
        low, high = self.at(values, left), self.at(values, right)
        slope = self.op("div", self.op("sub", high, low), self.op("sub", stop, start))
        line = self.op("add", self.op("mul", slope, self.op("sub", x, start)), low)
        first, last = self.number(0), self.number(n - 1)
        is_below = self.op("lt", x, self.at(points, first))
        is_beyond = self.op("ge", x, self.at(points, last))
        is_outside = self.op("where", is_below, is_below, is_beyond)
        self.builder.add(Check(self.op("where", is_outside, is_outside, self.op("eq", line, line))))
        inside = self.op("where", self.op("eq", x, start), low, line)
        to_last = self.op("where", is_beyond, self.at(values, last), inside)
        return self.op("where", is_below, self.at(values, first), to_last)

    def interp_segments(self, x: Value, points: Value) -> Value | None:
        if isinstance(x.type, ArrayType):
            return None
        return self.segment(self.builder.cast(x, F64), points)

    entries: ClassVar[dict[str, Callable[..., Any]]] = {
        "interp": interp,
        "interp_segments": interp_segments,
    }
