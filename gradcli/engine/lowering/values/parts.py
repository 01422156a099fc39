"""Elements and parts of arrays that are in memory, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from ...ir.instructions import Check, Value
from ...ir.types import I64, Scalar, is_float, strides
from ..held.kinds import FEW, Array, Mixed, Stored, is_many
from ..held.names import Fails, NotCompiled
from .stored import Indices, Pending, StoredArrays

# One step into a list or an array: a value for an int, a slice of known ints, an array of ints.
Step = Value | slice | Array | Stored


class Part(NamedTuple):
    """A part of an array: its shape, the places of its elements in the array, by their indices, and
    whether they are contiguous."""

    shape: tuple[int, ...]
    place: Callable[[Indices], Value]
    is_flat: bool


class Parts(StoredArrays):
    """The lowering of parts of arrays."""

    def stored_part(self, held: Stored, steps: Sequence[Step]) -> Any:
        """An element of an array, a row or a part of it."""
        part = self.part_at(held, steps)
        pending = self.part_of(held, part)
        if not part.shape:
            return pending.at([])
        if 0 in part.shape and 0 not in held.shape:
            source = self.builder.element(held.value, self.builder.constant(0))
            return Array(part.shape, (), held.type.element, source=source)
        is_one = is_many(pending.shape)
        return pending if is_one else self.unpacked(pending)

    def part_of(self, held: Stored, part: Part) -> Pending:
        def at(indices: Indices) -> Value:
            return self.builder.element(held.value, part.place(indices))

        def flat(place: Value) -> Value:
            first = part.place([self.builder.constant(0)] * len(part.shape))
            return self.builder.element(held.value, self.builder.place([first, place], [1, 1]))

        return Pending(part.shape, held.type.element, at, flat if part.is_flat else None)

    def stored_with(self, held: Stored, steps: Sequence[Step], value: Any) -> Stored:
        """An array with another value in the part that `stored_part` reads."""
        if has_arrays(steps):
            raise NotCompiled("a change at an array of indices is not compiled")
        part = self.part_at(held, steps)
        kind, size = held.type.element, prod(part.shape)
        if size == 0:
            return held
        if size <= FEW and not isinstance(value, Stored | Pending):
            return self.with_few(held, part, self.as_array(value))
        value = self.operand(value)
        if isinstance(value, Pending):
            if len(value.shape) > len(part.shape) or not _fits(value.shape, part.shape):
                raise NotCompiled("the shapes of these arrays don't fit")
            value = self.spread(value, part.shape)

        def body(indices: Indices) -> list[Value]:
            number = value.at(indices) if isinstance(value, Pending) else value
            return [self.as_element(number, kind), part.place(indices)]

        [found] = self.over(part.shape, [("put", held.value)], body)
        return Stored(found, held.variable)

    def with_few(self, held: Stored, part: Part, value: Any) -> Stored:
        """An array with other numbers in a few places."""
        kind, size, array = held.type.element, prod(part.shape), held.value
        if isinstance(value, Array) and value.shape != part.shape:
            raise NotCompiled("a value that is broadcast into a part is not compiled")
        numbers = value.items if isinstance(value, Array) else [value] * size
        for k, number in enumerate(numbers):
            place = part.place(self.indices(k, part.shape))
            array = self.builder.put(array, place, self.as_element(number, kind))
        return Stored(array, held.variable)

    def as_element(self, number: Any, kind: Scalar) -> Value:
        """A number as an element of an array of some type."""
        if not is_float(kind) and (isinstance(number, Mixed) or is_float(number.type)):
            raise NotCompiled("a float doesn't fit into an array of ints")
        return self.as_type(number, kind)

    def part_at(self, held: Stored, steps: Sequence[Step]) -> Part:
        """The part to which ints, slices and arrays of ints lead."""
        if len(steps) > len(held.shape):
            raise NotCompiled("there are more indices here than axes")
        self.count()
        first: list[tuple[Value, int]] = []  # terms of the place that all elements share
        # Sizes, distances, and whether an axis begins those of the arrays, and goes over these.
        axes: list[tuple[int, int, bool]] = []
        chosen: list[tuple[Pending, int]] = []  # the arrays, and the distances of their indices
        every = [slice(None)] * (len(held.shape) - len(steps))
        offset, together = 0, self.shape_of_arrays(steps)
        for n, size, step in zip(held.shape, strides(held.shape), [*steps, *every], strict=True):
            if isinstance(step, slice):
                picked = range(n)[step]
                axes.append((len(picked), picked.step * size, False))
                offset += picked.start * size
            elif isinstance(step, Array | Stored):
                axes += [] if chosen else [(m, 0, True) for m in together]
                indices = self.packed(step) if isinstance(step, Array) else step
                chosen.append((self.elements(self.counted_array(indices, n)), size))
            else:
                first.append((self.counted_from_0(step, n), size))
        shape = tuple([n for n, _, _ in axes])
        is_flat = not chosen and all(
            n == 1 or step == near for (n, step, _), near in zip(axes, strides(shape), strict=True)
        )

        def place(indices: Indices) -> Value:
            terms = list(first)
            for index, (_, step, is_of_arrays) in zip(indices, axes, strict=True):
                terms += [] if is_of_arrays else [(index, step)]
            own = [k for k, (_, _, is_of_arrays) in zip(indices, axes, strict=True) if is_of_arrays]
            terms += [(each.at(own), size) for each, size in chosen]
            return self.builder.place([v for v, _ in terms], [size for _, size in terms], offset)

        return Part(shape, place, is_flat)

    def shape_of_arrays(self, steps: Sequence[Step]) -> tuple[int, ...]:
        """The shape of the arrays of ints in an index, whose axes stand where these do."""
        shapes = {step.shape for step in steps if isinstance(step, Array | Stored)}
        named = [k for k, step in enumerate(steps) if not isinstance(step, slice)]
        if len(shapes) > 1 or (shapes and named[-1] - named[0] >= len(named)):
            raise NotCompiled(
                "arrays of indices that differ in shape, or aren't side by side, are not compiled"
            )
        return shapes.pop() if shapes else ()

    def counted_array(self, indices: Stored, n: int) -> Stored:
        """Indices into `n` items, counted from 0, after a check that all are in range."""
        if indices.type.element != I64:
            raise NotCompiled("an index that is no int and no slice is not compiled")
        builder, given = self.builder, self.elements(indices)
        fits = self.mapped(lambda index: builder.is_index(index, n), [given])
        assert fits.flat is not None
        flat = fits.flat
        [are_fit] = self.over(
            (given.size,), [("and", builder.constant(True))], lambda k: [flat(k[0])]
        )
        builder.add(Check(are_fit))
        counted = self.mapped(lambda index: builder.from_start(index, n), [given])
        return Stored(self.made(counted))

    def counted_from_0(self, at: Value, n: int | Value) -> Value:
        """An index into `n` items, counted from 0, after a check that it is in range, unless that
        is known."""
        builder, known = self.builder, self.builder.known.get(at)
        if known is not None and isinstance(n, int):
            if not -n <= known < n:
                raise Fails("this index is out of range")
            return builder.constant(known % n)
        size = n if isinstance(n, Value) else builder.constant(n)
        zero = builder.constant(0)
        from_end = builder.apply("lt", [at, zero])
        below = builder.apply("add", [at, size])
        found = builder.apply("where", [from_end, below, at])
        builder.add(Check(builder.apply("le", [zero, found])))
        builder.add(Check(builder.apply("lt", [found, size])))
        return found


def has_arrays(steps: Iterable[Any]) -> bool:
    """Whether there are arrays in an index."""
    return any(isinstance(step, Array | Stored) for step in steps)


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of a shape can be broadcast to another one."""
    pairs = zip(shape[::-1], into[::-1], strict=False)
    return all(n in (1, m) for n, m in pairs)
