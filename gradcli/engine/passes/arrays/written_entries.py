"""Entries of the table as instructions, in place of a call of their code: sorts of few elements,
interpolation at one point, and elements that are picked, or added up, at indices. The code of the
table is for arrays of any size. It takes microseconds to be called, and a kernel on rows doesn't
call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, ClassVar, TypeAlias

from ...ir.builder import Builder
from ...ir.instructions import Block, Check, Instruction, Structural, Value
from ...ir.numbers import Numbers
from ...ir.types import BOOL, F64, I64, ArrayType, Type, dimensions, element_of, strides
from ..copying import with_result


class Writer:
    """Writes entries of a kind, each by a method of its operands and options, which returns the
    result; None where the entry stays a call."""

    entries: ClassVar[dict[str, Callable[..., Any]]]

    def __init__(self, kind: Type) -> None:
        """`kind` is the type of the result."""
        self.builder, self.kind = Builder(Block()), kind
        self.m = Numbers(self.builder)

    def written(self, made: Structural) -> list[Instruction] | None:
        """The instructions that give the result of an entry; None where it stays a call."""
        if not self.takes([value.type for value in made.operands]):
            return None
        if (found := self.result(made)) is None:
            return None
        return with_result(self.builder.block.instructions, found, made.results[0])

    def takes(self, kinds: Sequence[Type]) -> bool:
        """Whether operands of these types are taken."""
        raise NotImplementedError

    def result(self, made: Structural) -> Value | None:
        """Adds the instructions, and returns the value that is the result."""
        write = self.entries[made.op.name]
        found: Value | None = write(self, *made.operands, **dict(made.options))
        return found

    def array(self, numbers: Sequence[Any]) -> Value:
        """The result with these elements, row by row."""
        array = self.builder.zero(self.kind)
        for k, number in enumerate(map(self.m.value, numbers)):
            array = self.builder.put(array, self.builder.constant(k), number)
        return array

    def element(self, array: Value, place: Value | int) -> Any:
        """An element, for formulas."""
        return self.m.number(self.builder.element(array, self.m.value(place)))

    def swapped(self, condition: Any, a: list[Any], b: list[Any]) -> tuple[list[Any], list[Any]]:
        """Two rows of numbers, exchanged where a condition holds."""
        pairs = list(zip(a, b, strict=True))
        return (
            [self.m.where(condition, y, x) for x, y in pairs],
            [self.m.where(condition, x, y) for x, y in pairs],
        )


MOST_SORTED = 8  # elements


class Sorting(Writer):
    """Writes entries that sort an array of one axis. Equal elements keep their order, and nan comes
    last."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        [kind] = kinds
        is_few = isinstance(kind, ArrayType) and len(kind.shape) == 1 and kind.size <= MOST_SORTED
        return is_few and kind.element != BOOL  # type: ignore[union-attr]

    def sort(self, x: Value, axis: int | None) -> Value | None:
        if axis is None:  # NumPy's sort isn't stable here: 0 and -0 come in an order of its own
            return None
        return self.array([number for number, _ in self.ordered(x)])

    def argsort(self, x: Value, axis: int | None) -> Value:
        return self.array([place for _, place in self.ordered(x)])

    def ordered(self, x: Value) -> list[list[Any]]:
        """The elements in ascending order, each with its place in the array."""
        places = map(self.builder.constant, range(x.array_type.size))
        rows = [[self.element(x, place), place] for place in places]
        for last in range(1, len(rows)):
            for k in range(last, 0, -1):
                (a, _), (b, _) = rows[k - 1 : k + 1]
                is_first = self.m.where(a <= b, False, b == b)
                rows[k - 1], rows[k] = self.swapped(is_first, rows[k - 1], rows[k])
        return rows

    entries: ClassVar[dict[str, Callable[..., Any]]] = {"sort": sort, "argsort": argsort}


class Lookups(Writer):
    """Writes interpolation at one point."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        """Whether all are numbers or vectors of float64 or int64."""
        return all(len(dimensions(kind)) <= 1 and element_of(kind) in (F64, I64) for kind in kinds)

    def at(self, vector: Value, place: Any) -> Any:
        """An element as a float."""
        return self.float(self.element(vector, place).v)

    def float(self, value: Value) -> Any:
        return self.m.number(self.builder.cast(value, F64))

    def segment(self, x: Any, points: Value, verified: bool = False) -> Any:
        """The number of the segment between points that a number lies in: at a point the one to its
        right, outside the next. `verified`: steps back unless the points ascend."""
        m, n = self.m, points.array_type.size

        def reach(place: Value, carried: Sequence[Value]) -> list[Value]:
            (count, ascend, last), point = map(m.number, carried), self.at(points, place)
            reached = m.where(point > x, count, count + 1)  # nan reaches all
            return list(map(m.value, (reached, m.where(ascend, point >= last, ascend), point)))

        first = list(map(m.value, (0, True, -inf)))
        count, ascend, _ = self.builder.loop(m.value(n), first, reach)
        if verified:
            self.builder.add(Check(ascend))
        return m.clip(m.number(count) - 1, 0, max(n - 2, 0))

    def interp(self, x: Value, points: Value, values: Value) -> Value | None:
        """As NumPy has it. Steps back where a line gives nan."""
        if isinstance(x.type, ArrayType):
            return None
        m, last, given = self.m, points.array_type.size - 1, self.float(x)
        left = self.segment(given, points, verified=True)
        right = m.minimum(left + 1, last)
        start, stop = self.at(points, left), self.at(points, right)
        low, high = self.at(values, left), self.at(values, right)
        line = (high - low) / (stop - start) * (given - start) + low
        is_below, is_beyond = given < self.at(points, 0), given >= self.at(points, last)
        is_outside = m.where(is_below, is_below, is_beyond)
        self.builder.add(Check(m.value(m.where(is_outside, is_outside, line == line))))
        inside = m.where(given == start, low, line)
        to_last = m.where(is_beyond, self.at(values, last), inside)
        return m.value(m.where(is_below, self.at(values, 0), to_last))

    def interp_segments(self, x: Value, points: Value) -> Value | None:
        if isinstance(x.type, ArrayType):
            return None
        return self.m.value(self.segment(self.float(x), points))

    entries: ClassVar[dict[str, Callable[..., Any]]] = {
        "interp": interp,
        "interp_segments": interp_segments,
    }


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
