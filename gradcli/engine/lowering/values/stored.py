"""Arrays of many elements in IR.

An array of many elements is one value. An expression of elementwise ops on such arrays is `Pending`
until something needs the array: so it is one `each`, whatever the number of its operations, and a
part of an array that is only read, or summed, needs no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ....ops.op import Op
from ...backends.backend import broadcast_shapes
from ...ir.instructions import Block, Branch, Each, Value
from ...ir.types import FLOATS, ArrayType, Scalar, element_of, strides
from ..held.columns import filled
from ..held.kinds import Array, ListOrArray, Mixed, Stored, Table, is_many, kind_of, with_parts
from ..held.names import NotCompiled
from ..held.ranges import Ints
from .arrays import MAX_ELEMENTS, Arrays

MAX_PENDING = 64  # operations of a pending operand; one with more is made first

Indices = Sequence[Value]  # one for each axis


class Pending(NamedTuple):
    """An array that isn't made yet: `at` adds the instructions that compute the element at indices.

    flat        the same for a place, which is counted from 0, row by row; None where the elements
                aren't in this order in the arrays that are read
    operations  the number of operations for an element
    transposed  the array of matrices of which these are the transposes, if there is one
    """

    shape: tuple[int, ...]
    type: Scalar
    at: Callable[[Indices], Value]
    flat: Callable[[Value], Value] | None = None
    operations: int = 0
    transposed: Value | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)


class StoredArrays(Arrays):
    """The lowering of arrays that are in memory."""

    def ints(self, held: Ints) -> list[Any]:
        raise NotImplementedError

    # ---- whole arrays ----------------------------------------------------------------------------

    def whole(self, held: Any) -> Any:
        """What a name can hold: arrays are made, and one of many elements is one value."""
        if isinstance(held, Array) and is_many(held.shape):
            return self.packed(held)
        if isinstance(held, Pending):
            is_one = is_many(held.shape)
            return Stored(self.made(held)) if is_one else self.unpacked(held)
        return held

    def in_memory(self, held: Any) -> Any:
        """What is held, with each array as one value."""
        return self.packed(held) if isinstance(held, Array) else with_parts(held, self.in_memory)

    def packed(self, held: Array) -> Stored:
        """An array of few elements as one value."""
        array = self.builder.room(ArrayType(held.type, held.shape))
        for k, item in enumerate(held.items):
            array = self.builder.put(array, self.builder.constant(k), item)
        return Stored(array, held.variable)

    def made(self, pending: Pending, listed: bool = False) -> Value:
        """Adds the instructions that make a pending array, or a list of its numbers."""
        array = self.builder.room(ArrayType(pending.type, pending.shape, listed))
        if pending.flat is not None:
            flat = pending.flat
            [found] = self.over((pending.size,), [("put", array)], lambda k: [flat(k[0]), k[0]])
            return found

        def body(indices: Indices) -> list[Value]:
            return [pending.at(indices), self.place(indices, pending.shape)]

        [found] = self.over(pending.shape, [("put", array)], body)
        return found

    def over(
        self,
        shape: Sequence[int],
        initial: Sequence[tuple[str, Value]],
        body: Callable[[Indices], Sequence[Value]],
    ) -> list[Value]:
        """Adds an `each` over the indices of a shape, without the axes of one element."""
        self.count()
        axes = [k for k, size in enumerate(shape) if size != 1] or [0]

        def inside(indices: Sequence[Value]) -> Sequence[Value]:
            every_axis = [self.builder.constant(0)] * len(shape)
            for k, index in zip(axes, indices, strict=True):
                every_axis[k] = index
            return body(every_axis)

        sizes = [shape[k] for k in axes] if shape else [1]
        found = self.builder.each(sizes, initial, inside if shape else lambda _: body([]))
        made = self.builder.block.instructions[-1]
        assert isinstance(made, Each)
        self.count(len(made.body.instructions))
        if any(isinstance(inner, Branch) for inner in made.body.instructions):
            raise NotCompiled("a choice between an int and a float in an array is not compiled")
        return found

    def place(self, indices: Indices, shape: Sequence[int]) -> Value:
        """The place of the element at indices, in an array of a shape."""
        return self.builder.place(indices, strides(shape))

    def unpacked(self, held: Stored | Pending) -> Array:
        """The elements of an array as scalars."""
        pending = self.elements(held)
        if pending.size > MAX_ELEMENTS:
            many = f"an array of more than {MAX_ELEMENTS} elements"
            raise NotCompiled(f"this is not compiled for {many}")
        self.count(pending.size)
        items = [pending.at(self.indices(k, pending.shape)) for k in range(pending.size)]
        return Array(pending.shape, tuple(items), pending.type, getattr(held, "variable", False))

    def indices(self, place: int, shape: tuple[int, ...]) -> list[Value]:
        """The indices of a known place."""
        steps = zip(strides(shape), shape, strict=True)
        return [self.builder.constant(place // step % size) for step, size in steps]

    def few_apart(self, held: Stored) -> Stored | Array:
        """An array; its elements as scalars if they are few."""
        is_one = is_many(held.shape)
        return held if is_one else self.unpacked(held)

    def elements(self, held: Stored | Pending) -> Pending:
        """An array, to be read element by element."""
        if isinstance(held, Pending):
            return held
        array, shape = held.value, held.shape

        def at(indices: Indices) -> Value:
            return self.builder.element(array, self.place(indices, shape))

        return Pending(
            shape, held.type.element, at, lambda place: self.builder.element(array, place)
        )

    def ready(self, pending: Pending) -> Pending:
        """An array whose elements can be read several times: a pending one is made."""
        return self.elements(Stored(self.made(pending))) if pending.operations else pending

    def stacked(self, held: Any) -> Any:
        if isinstance(held, ListOrArray):
            held = held.array
        if isinstance(held, Stored | Pending):
            return self.unpacked(held)
        if isinstance(held, Ints):
            held = tuple(self.ints(held))
        if type(held) is not tuple:
            if not isinstance(held, Value | Mixed | Array):
                raise NotCompiled("only a list of numbers is an array")
            return held
        shape, parts = self.parts_in(held)
        if prod(shape) > MAX_ELEMENTS:
            return self.long_list(shape, parts)
        items: list[Any] = []
        for part in parts:
            items += self.unpacked(part).items if isinstance(part, Stored) else [part]
        return self.array(shape, items)

    def parts_in(self, held: Any) -> tuple[tuple[int, ...], list[Any]]:
        """The shape of a list as an array, and its numbers and long arrays in order."""
        if isinstance(held, Ints):
            held = tuple(self.ints(held))
        if type(held) is tuple:
            found = [self.parts_in(item) for item in held]
            shapes = {shape for shape, _ in found} or {()}
            if len(shapes) > 1:
                raise NotCompiled("the rows of a list differ in length")
            return (len(held), *shapes.pop()), [part for _, parts in found for part in parts]
        held = self.whole(held.array if isinstance(held, ListOrArray) else held)
        if isinstance(held, Array):
            return held.shape, [*held.items]
        if not isinstance(held, Value | Mixed | Stored):
            raise NotCompiled("only a list of numbers is an array")
        return held.shape if isinstance(held, Stored) else (), [held]

    def long_list(self, shape: tuple[int, ...], parts: Sequence[Any]) -> Stored:
        """An array in memory of numbers and arrays, one after the other."""
        values = [p.value if isinstance(p, Stored) else p for p in parts]
        if any(isinstance(value, Mixed) for value in values):
            raise NotCompiled("a long list of numbers that may be ints or floats is no array here")
        kind = self.joined_type({element_of(value.type) for value in values})
        self.count(len(values))
        return Stored(filled(self.builder, ArrayType(kind, shape), values))

    def concatenated(self, parts: Sequence[Any], axis: int) -> Stored | Array:
        """Arrays one after the other along an axis."""
        shapes = [part.shape for part in parts if isinstance(part, Pending)]
        rank = len(shapes[0])
        others = {tuple([n for k, n in enumerate(each) if k != axis % rank]) for each in shapes}
        fit = len(shapes) == len(parts) and len(others) == 1 and {*map(len, shapes)} == {rank}
        if not fit or not -rank <= axis < rank or 0 in map(prod, shapes):
            raise NotCompiled("arrays that don't fit together are not compiled")
        axis %= rank
        types = [part.type for part in parts]
        kind = self.joined_type(types)
        length = sum([shape[axis] for shape in shapes])
        shape = (*shapes[0][:axis], length, *shapes[0][axis + 1 :])
        array, steps, start = self.builder.room(ArrayType(kind, shape)), strides(shape), 0
        for part in parts:

            def body(indices: Indices, part: Pending = part, start: int = start) -> list[Value]:
                place = self.builder.place(indices, steps, start)
                return [self.as_type(part.at(indices), kind), place]

            [array] = self.over(part.shape, [("put", array)], body)
            start += part.shape[axis] * steps[axis]
        return self.few_apart(Stored(array))

    # ---- elementwise ops -------------------------------------------------------------------------

    def elementwise(self, op: Op, operands: Sequence[Any]) -> Any:
        operands = [
            self.as_array(held) if type(held) in (tuple, Table) else held for held in operands
        ]
        if any(isinstance(held, Stored | Pending) for held in operands):
            return self.pending(op, operands)
        return super().elementwise(op, operands)

    def pending(self, op: Op, operands: Sequence[Any]) -> Pending:
        """An elementwise op on arrays of many elements."""
        op, operands = self.as_square(op, operands)
        parts = [self.operand(held) for held in operands]
        parts = self.promoted(op, parts)
        floats = any(getattr(part, "type", None) in FLOATS for part in parts)
        for k, part in enumerate(parts):
            if isinstance(part, Mixed) and floats:
                parts[k] = self.as_float(part)
        return self.mapped(lambda *values: self.scalar(op, values), parts)

    def of_type(self, held: Any, kind: Scalar) -> Any:
        if isinstance(held, Pending):
            return self.mapped(lambda item: self.as_type(item, kind), [held])
        return super().of_type(held, kind)

    def mapped(self, change: Callable[..., Any], parts: Sequence[Any]) -> Pending:
        """`change` of the elements of arrays, which are broadcast, and of numbers."""
        shape = broadcast_shapes([part.shape for part in parts if isinstance(part, Pending)])
        if shape is None:
            raise NotCompiled("the shapes of these arrays don't fit")
        parts = [self.spread(p, shape) if isinstance(p, Pending) else p for p in parts]

        def at(indices: Indices) -> Any:
            return change(*[p.at(indices) if isinstance(p, Pending) else p for p in parts])

        def flat(place: Value) -> Any:
            return change(
                *[p.flat(place) if isinstance(p, Pending) and p.flat else p for p in parts]
            )

        change = self.from_here(change)
        with self.builder.inside(Block()):  # which is thrown away
            values = [Value(p.type) if isinstance(p, Pending) else p for p in parts]
            kind = kind_of(change(*values))
        if not isinstance(kind, Scalar):
            raise NotCompiled("an array of ints or floats is not compiled")
        is_flat = all(p.flat is not None for p in parts if isinstance(p, Pending))
        operations = 1 + sum([p.operations for p in parts if isinstance(p, Pending)])
        return Pending(shape, kind, at, flat if is_flat else None, operations)

    def operand(self, held: Any) -> Any:
        """An operand of an op on many elements: a number, or an array that is read element by
        element."""
        if type(held) in (tuple, Table):
            held = self.as_array(held)
        if isinstance(held, Array):
            held = self.packed(held)
        return self.elements(held) if isinstance(held, Stored) else held

    def spread(self, pending: Pending, shape: tuple[int, ...]) -> Pending:
        """An operand, broadcast to a shape. It is made first if it takes many operations, or any
        and each element is read several times."""
        is_spread = pending.shape != shape
        if pending.operations > (0 if is_spread else MAX_PENDING):
            pending = self.ready(pending)
        if not is_spread:
            return pending
        first = len(shape) - len(pending.shape)

        def at(indices: Indices) -> Value:
            own = zip(indices[first:], pending.shape, strict=True)
            return pending.at([self.builder.constant(0) if n == 1 else k for k, n in own])

        return Pending(shape, pending.type, at)
