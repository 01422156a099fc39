"""Picking elements by index, and adding up at indices, as `each`. The code of the table takes many
times as long to add up, and takes microseconds to be called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from ...ir.instructions import Check, Value
from ...ir.types import I64, ArrayType, Type, dimensions, element_of, strides
from .writing import Writer

# The place in an array that belongs to a point, by the indices of that.
Place: TypeAlias = Callable[[Sequence[Value]], Value]


class Picking(Writer):
    """Writes entries that pick or add up elements by indices, their second operand."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        return element_of(kinds[1]) == I64

    # ---- entries ---------------------------------------------------------------------------------

    def take(self, x: Value, indices: Value, axis: int | None) -> Value | None:
        if not isinstance(x.type, ArrayType):
            return None
        shape, axis = (x.type.shape, axis) if axis is not None else ((x.type.size,), 0)
        return self.read(x, self.along(shape, axis, indices))

    def untake(self, g: Value, indices: Value, axis: int, shape: Sequence[int]) -> Value | None:
        return self.added(self.zeros(), g, dimensions(g.type), self.along(shape, axis, indices))

    def gather(self, x: Value, indices: Value, axis: int) -> Value | None:
        return self.read(x, self.one_each(dimensions(x.type), axis, indices))

    def ungather(self, g: Value, indices: Value, axis: int, shape: Sequence[int]) -> Value | None:
        return self.added(self.zeros(), g, dimensions(g.type), self.one_each(shape, axis, indices))

    def scatter_add(self, x: Value, indices: Value, values: Value) -> Value | None:
        if x.type != self.kind:
            return None
        shape = dimensions(x.type)
        points = (*dimensions(indices.type), *shape[1:])
        return self.added(x, values, points, self.along(shape, 0, indices))

    # ---- places ----------------------------------------------------------------------------------

    def along(self, shape: Sequence[int], axis: int, indices: Value) -> Place:
        """The place in an array, where the axes of the indices take the place of an axis."""
        axis, depth = axis % len(shape), len(dimensions(indices.type))
        index = self.counted(indices, shape[axis])

        def place(at: Sequence[Value]) -> Value:
            chosen = index(at[axis : axis + depth])
            return self.builder.place((*at[:axis], chosen, *at[axis + depth :]), strides(shape))

        return place

    def one_each(self, shape: Sequence[int], axis: int, indices: Value) -> Place:
        """The place in an array, where each point has an index along an axis."""
        axis = axis % len(shape)
        index = self.counted(indices, shape[axis])

        def place(at: Sequence[Value]) -> Value:
            return self.builder.place((*at[:axis], index(at), *at[axis + 1 :]), strides(shape))

        return place

    def counted(self, indices: Value, n: int) -> Place:
        """An index into `n` elements at a point, counted from 0. Adds a check that all are in range
        before."""
        builder = self.builder

        def is_index(at: Sequence[Value]) -> Value:
            return builder.is_index(self.builder.element_at(indices, at), n)

        if shape := dimensions(indices.type):
            true = builder.constant(True)
            [are_indices] = builder.each(shape, [("and", true)], lambda at: [is_index(at)])
        else:
            are_indices = is_index(())
        builder.add(Check(are_indices))
        return lambda at: builder.from_start(self.builder.element_at(indices, at), n)

    # ---- elements --------------------------------------------------------------------------------

    def read(self, array: Value, place: Place) -> Value:
        """The elements of an array at the places of all points of the result."""
        if not isinstance(self.kind, ArrayType):
            return self.builder.element(array, place(()))
        return self.builder.array(self.kind, lambda at: self.builder.element(array, place(at)))

    def zeros(self) -> Value:
        return self.builder.zero(self.kind)

    def added(self, start: Value, value: Value, points: Sequence[int], place: Place) -> Value:
        """An array with the numbers of a value added at the places of all points."""

        def point(at: Sequence[Value]) -> Sequence[Value]:
            number = self.builder.cast(self.builder.element_at(value, at), element_of(self.kind))
            return number, place(at)

        if points:
            return self.builder.each(tuple(points), [("add", start)], point)[0]
        number, only = point(())
        total = self.builder.apply("add", [self.builder.element(start, only), number])
        return self.builder.put(start, only, total)

    entries: ClassVar[dict[str, Callable[..., Any]]] = {
        "take": take,
        "untake": untake,
        "gather": gather,
        "ungather": ungather,
        "scatter_add": scatter_add,
    }
