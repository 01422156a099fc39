"""Elements of arrays that are combined: all of an array, or those along one of its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

from ...diagnostics import Span
from ..backends.backend import INT_MAX, INT_MIN
from ..ir.instructions import Value
from ..ir.types import BOOL, FLOATS, I64, ArrayType, Scalar, strides
from .elements import Elements
from .kinds import Stored
from .stored import Indices, Pending

EXACT = 4096  # elements of an expression, of which the sum has NumPy's bits whatever their order


class Lines(NamedTuple):
    """The elements of an array of many, or its lines along an axis."""

    elements: Pending
    axis: int | None = None

    @property
    def type(self) -> Scalar:
        return self.elements.type

    @property
    def size(self) -> int:
        """How many elements are combined with each other."""
        return self.elements.size if self.axis is None else self.elements.shape[self.axis]


Group: TypeAlias = Sequence[Value] | Lines  # elements that are reduced together
Found: TypeAlias = Any  # what a group gives: a number, or a `Pending` with one for each line

_FIRST: dict[str, dict[Scalar, Any]] = {
    "maximum": {**dict.fromkeys(FLOATS, -inf), I64: INT_MIN},
    "minimum": {**dict.fromkeys(FLOATS, inf), I64: INT_MAX},
    "or": {BOOL: False},
    "and": {BOOL: True},
    "add": {**dict.fromkeys(FLOATS, 0.0), I64: 0},
}


class Combining(Elements):
    """The lowering of what combines elements."""

    def total(self, items: Group, span: Span) -> Found:
        """The sum of elements. That of an expression of more than `EXACT` elements whose operands
        are broadcast adds the sums of its rows."""
        if not isinstance(items, Lines):
            return super().total(items, span)
        pending, axis = items
        if axis is None and pending.flat is None and pending.operations:
            if pending.size <= EXACT:
                return self.total(Lines(self.ready(pending, span)), span)
            if len(pending.shape) > 1:
                rows = Lines(pending, len(pending.shape) - 1)
                return self.total(Lines(self.combined("add", rows, span)), span)
        return self.combined("add", items, span)

    def combined(self, way: str, items: Lines, span: Span) -> Found:
        """Elements, combined in a way of `each`."""
        (pending, axis), builder = items, self.builder
        first = builder.number(_FIRST[way][pending.type], pending.type)
        if axis is None:
            flat, at = pending.flat, pending.at
            shape = pending.shape if flat is None else (pending.size,)

            def number(indices: Indices) -> list[Value]:
                return [at(indices) if flat is None else flat(indices[0])]

            return self.over(shape, [(way, first)], number, span)[0]
        shape = tuple([n for k, n in enumerate(pending.shape) if k != axis])
        if not shape:
            return self.over(pending.shape, [(way, first)], lambda k: [pending.at(k)], span)[0]
        steps = strides(shape)

        def along(indices: Indices) -> list[Value]:
            kept = [index for k, index in enumerate(indices) if k != axis]
            return [pending.at(indices), builder.place(kept, steps)]

        array = builder.filled(ArrayType(pending.type, shape), first)
        [found] = self.over(pending.shape, [(way, array)], along, span)
        return self.elements(Stored(found))

    def each(self, items: Group, change: Callable[..., Value], span: Span, *beside: Found) -> Group:
        """Elements that become others, beside numbers that their group has."""
        if not isinstance(items, Lines):
            return [change(item, *beside) for item in items]
        pending, axis = items
        spread = [self.along_axis(found, pending, axis, span) for found in beside]
        return Lines(self.mapped(change, [pending, *spread], span), axis)

    def along_axis(self, found: Found, like: Pending, axis: int | None, span: Span) -> Found:
        """A number for each line, as one for each element."""
        if not isinstance(found, Pending):
            return found
        assert axis is not None
        found = self.ready(found, span)

        def at(indices: Indices) -> Value:
            value: Value = found.at([k for n, k in enumerate(indices) if n != axis])
            return value

        return Pending(like.shape, found.type, at)

    def of_found(self, change: Callable[..., Value], found: Sequence[Found], span: Span) -> Found:
        """What is computed of the numbers that groups have."""
        if any(isinstance(each, Pending) for each in found):
            return self.mapped(change, found, span)
        return change(*found)
