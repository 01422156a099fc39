"""Arrays of many elements in IR, which are read and written one element or a few at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import prod
from typing import Any, NamedTuple

from ...diagnostics import Span
from ..ir.instructions import Check, Value
from ..ir.types import F64, Scalar
from .arrays import MAX_ELEMENTS, Arrays
from .kinds import Array, Mixed, Stored
from .names import NotCompiled


class Row(NamedTuple):
    """A row of an array, or an element: its shape, and the places of its elements."""

    shape: tuple[int, ...]
    places: list[Value]


# One step into a list or an array: a value for an int, a slice of known ints.
Step = Value | slice


class StoredArrays(Arrays):
    """The lowering of arrays that are in memory."""

    def part(self, held: Any, steps: Sequence[Step], span: Span) -> Any:
        raise NotImplementedError

    def array_with(self, held: Any, steps: Sequence[Step], value: Any, span: Span) -> Any:
        raise NotImplementedError

    def stored_part(self, held: Stored, steps: Sequence[Step], span: Span) -> Any:
        """An element of an array, or a row or a part of a row that has few elements."""
        row, rest = self.row(held, steps, span)
        found = [self.builder.element(held.value, place) for place in row.places]
        if not row.shape:
            return found[0]
        return self.part(Array(row.shape, tuple(found), held.type.element), rest, span)

    def stored_with(self, held: Stored, steps: Sequence[Step], value: Any, span: Span) -> Stored:
        """An array with another value where `stored_part` reads."""
        row, rest = self.row(held, steps, span)
        kind, value = held.type.element, self.as_array(value, span)
        if rest:
            value = self.array_with(
                self.stored_part(held, steps[: -len(rest)], span), rest, value, span
            )
        if isinstance(value, Array) and value.shape != row.shape:
            raise NotCompiled("a value that is broadcast into a part is not compiled", span)
        numbers = value.items if isinstance(value, Array) else [value] * len(row.places)
        array = held.value
        for place, number in zip(row.places, numbers, strict=True):
            array = self.builder.put(array, place, self.as_element(number, kind, span))
        return Stored(array, held.variable)

    def as_element(self, number: Any, kind: Scalar, span: Span) -> Value:
        """A number as an element of an array of some type."""
        if kind != F64 and (isinstance(number, Mixed) or number.type == F64):
            raise NotCompiled("a float doesn't fit into an array of ints", span)
        return self.as_type(number, kind, span)

    def row(self, held: Stored, steps: Sequence[Step], span: Span) -> tuple[Row, Sequence[Step]]:
        """The row that the first steps lead to, and those steps that lead further."""
        ints = list(takewhile(lambda step: isinstance(step, Value), steps))
        shape, rest = held.shape[len(ints) :], steps[len(ints) :]
        size = prod(shape)
        if not ints or size > MAX_ELEMENTS or len(steps) > len(held.shape):
            raise NotCompiled("many elements at once are not compiled", span)
        self.count(span, size)
        first = self.place(ints, held.shape, span)
        constant, add = self.builder.constant, self.builder.apply
        places = (
            [first] if size == 1 else [add("add", [first, constant(k)], span) for k in range(size)]
        )
        return Row(shape, places), rest

    def place(self, steps: Sequence[Any], shape: Sequence[int], span: Span) -> Value:
        """Where the row begins that ints lead to."""
        builder, place = self.builder, None
        for k, step in enumerate(steps):
            at = self.counted_from_0(step, shape[k], span)
            size = prod(shape[k + 1 :])
            at = at if size == 1 else builder.apply("mul", [at, builder.constant(size)], span)
            place = at if place is None else builder.apply("add", [place, at], span)
        assert place is not None
        return place

    def counted_from_0(self, at: Value, n: int, span: Span) -> Value:
        """An index from 0, after a check that it is in range, unless it is known to be."""
        builder, known = self.builder, self.builder.known.get(at)
        if known is not None:
            if not -n <= known < n:
                raise NotCompiled("this index is out of range", span)
            return builder.constant(known % n)
        size, zero = builder.constant(n), builder.constant(0)
        from_end = builder.apply("lt", [at, zero], span)
        below = builder.apply("add", [at, size], span)
        found = builder.apply("where", [from_end, below, at], span)
        builder.add(Check(builder.apply("le", [zero, found], span)))
        builder.add(Check(builder.apply("lt", [found, size], span)))
        return found
