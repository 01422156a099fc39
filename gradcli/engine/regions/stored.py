"""Arrays of many elements in IR.

An array of many elements is one value. An expression of elementwise ops on such arrays is `Pending`
until something asks for the array: so it is one loop, whatever the number of its operations, and a
part of an array that is only read, or summed, needs no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...ops.op import Op
from ..ir.instructions import Block, Check, For, Value
from ..ir.types import F64, I64, ArrayType, Scalar
from .arrays import FEW, MAX_ELEMENTS, Arrays, broadcast, is_many
from .kinds import Array, Maybe, Mixed, Record, Stored, kind_of
from .names import NotCompiled
from .ranges import Ints

MAX_PENDING = 64  # operations of an expression that is one loop, at least
MAX_ADDED = 4096  # elements, which are added in blocks of at most BLOCK
BLOCK = 128


class Pending(NamedTuple):
    """An array that isn't made yet: `at` adds the instructions that give the element at a place,
    which is counted from 0, row by row. The elements of a `strided` one are apart in memory, and
    NumPy adds them one after another. An element takes so many `operations`."""

    shape: tuple[int, ...]
    type: Scalar
    at: Callable[[Value], Value]
    strided: bool = False
    operations: int = 0

    @property
    def size(self) -> int:
        return prod(self.shape)


class Part(NamedTuple):
    """A part of an array: its shape, and where in the array its elements are."""

    shape: tuple[int, ...]
    place: Callable[[Value], Value]


# One step into a list or an array: a value for an int, a slice of known ints.
Step = Value | slice


class StoredArrays(Arrays):
    """The lowering of arrays that are in memory."""

    def ints(self, held: Ints, span: Span) -> list[Any]:
        raise NotImplementedError

    # ---- whole arrays ----------------------------------------------------------------------------

    def whole(self, held: Any, span: Span) -> Any:
        """What a name can hold: an array that is made, and one value if it has many elements."""
        if isinstance(held, Array) and is_many(held.shape):
            return self.packed(held)
        if isinstance(held, Pending):
            is_one = is_many(held.shape)
            return Stored(self.made(held, span)) if is_one else self.unpacked(held, span)
        return held

    def in_memory(self, held: Any) -> Any:
        """What is held, with each array as one value."""
        if isinstance(held, Array):
            return self.packed(held)
        if isinstance(held, tuple):
            return tuple(map(self.in_memory, held))
        if isinstance(held, Record):
            return Record(held.keys, self.in_memory(held.items))
        return Maybe(held.there, self.in_memory(held.held)) if isinstance(held, Maybe) else held

    def packed(self, held: Array) -> Stored:
        """An array as one value."""
        array = self.builder.zero(ArrayType(held.type, held.shape))
        for k, item in enumerate(held.items):
            array = self.builder.put(array, self.builder.constant(k), item)
        return Stored(array, held.variable)

    def made(self, pending: Pending, span: Span) -> Value:
        """Adds the loop that makes an array."""
        array = self.builder.zero(ArrayType(pending.type, pending.shape))

        def put(array: Value, place: Value) -> Value:
            return self.builder.put(array, place, pending.at(place))

        return self.at_each_place(array, pending.size, put, span)

    def at_each_place(
        self, array: Value, size: int, put: Callable[[Value, Value], Value], span: Span
    ) -> Value:
        """Adds a loop that changes an array at each of so many places. Returns the array that it
        leaves."""
        self.count(span)
        place, before, after = Value(I64), Value(array.type), Value(array.type)
        with self.builder.inside(Block((place, before))) as body:
            body.results = (put(before, place),)
        self.builder.add(For(self.builder.constant(size), (array,), body, (after,)))
        return after

    def unpacked(self, held: Stored | Pending, span: Span | None) -> Array:
        """The elements of an array as scalars."""
        pending = self.elements(held)
        if pending.size > MAX_ELEMENTS:
            many = f"an array of more than {MAX_ELEMENTS} elements"
            raise NotCompiled(f"this is not compiled for {many}", span)
        self.count(span, pending.size)
        items = [pending.at(self.builder.constant(k)) for k in range(pending.size)]
        return Array(pending.shape, tuple(items), pending.type, getattr(held, "variable", False))

    def few_apart(self, held: Stored, span: Span | None) -> Stored | Array:
        """An array that has been made; its elements as scalars if they are few."""
        is_one = is_many(held.shape)
        return held if is_one else self.unpacked(held, span)

    def elements(self, held: Stored | Pending) -> Pending:
        """An array, to be read place by place."""
        if isinstance(held, Pending):
            return held
        return Pending(held.shape, held.type.element, partial(self.builder.element, held.value))

    def stacked(self, held: Any, span: Span) -> Any:
        if isinstance(held, Stored | Pending):
            return self.unpacked(held, span)
        if isinstance(held, Ints):
            held = tuple(self.ints(held, span))
        return super().stacked(held, span)

    # ---- elementwise ops -------------------------------------------------------------------------

    def elementwise(self, op: Op, operands: Sequence[Any], span: Span) -> Any:
        if any(isinstance(held, Stored | Pending) for held in operands):
            found = self.pending(op, operands, span)
            if found is not None:
                return found
        return super().elementwise(op, operands, span)

    def pending(self, op: Op, operands: Sequence[Any], span: Span) -> Pending | None:
        """An elementwise op on arrays of many elements; None where it isn't one loop."""
        op, operands = self.as_square(op, operands)
        parts = [self.operand(held, span) for held in operands]
        shape = broadcast([part.shape for part in parts if isinstance(part, Pending)])
        if shape is None:
            raise NotCompiled("the shapes of these arrays don't fit", span)
        parts = [self.spread(p, shape, span) if isinstance(p, Pending) else p for p in parts]

        def at(place: Value) -> Any:
            values = [part.at(place) if isinstance(part, Pending) else part for part in parts]
            return self.scalar(op, values, span)

        with self.builder.inside(Block()):  # which is thrown away
            values = [Value(p.type) if isinstance(p, Pending) else p for p in parts]
            kind = kind_of(self.scalar(op, values, span))
        operations = 1 + sum([p.operations for p in parts if isinstance(p, Pending)])
        return Pending(shape, kind, at, operations=operations) if isinstance(kind, Scalar) else None

    def operand(self, held: Any, span: Span) -> Any:
        """An operand of an op on many elements: an array that is read place by place, or a
        number."""
        if type(held) is tuple:
            held = self.as_array(held, span)
        if isinstance(held, Array):
            held = self.packed(held)
        return self.elements(held) if isinstance(held, Stored) else held

    def spread(self, pending: Pending, shape: tuple[int, ...], span: Span) -> Pending:
        """An operand as an array of a shape, to which it is broadcast: what takes many operations
        is made first, and what takes any where each element is read several times."""
        is_spread = pending.shape != shape
        if pending.operations > (0 if is_spread else MAX_PENDING):
            pending = self.elements(Stored(self.made(pending, span)))
        if not is_spread:
            return pending
        sizes = (1,) * (len(shape) - len(pending.shape)) + pending.shape
        axes = [k for k, size in enumerate(sizes) if size != 1]

        def at(place: Value) -> Value:
            terms = [
                self.times(self.digit(place, k, shape), prod(sizes[k + 1 :])) for k in axes
            ] or [self.builder.constant(0)]
            return pending.at(self.sum_of_ints(terms))

        return Pending(shape, pending.type, at)

    def digit(self, place: Value, axis: int, shape: tuple[int, ...]) -> Value:
        """The index along an axis at a place of an array."""
        step = prod(shape[axis + 1 :])
        if shape[axis] == 1:
            return self.builder.constant(0)
        if step > 1:
            place = self.builder.apply("floordiv", [place, self.builder.constant(step)])
        if axis == 0:
            return place
        return self.builder.apply("mod", [place, self.builder.constant(shape[axis])])

    def times(self, index: Value, step: int) -> Value:
        """An int times another that is known."""
        return (
            index if step == 1 else self.builder.apply("mul", [index, self.builder.constant(step)])
        )

    def sum_of_ints(self, terms: Sequence[Value]) -> Value:
        """The sum of ints, but for those that are known to be 0."""
        zero = self.builder.constant(0)
        total = zero
        for term in terms:
            if self.builder.known.get(term) != 0:
                total = term if total is zero else self.builder.apply("add", [total, term])
        return total

    # ---- sums ------------------------------------------------------------------------------------

    def total(self, items: Sequence[Value] | Pending, span: Span) -> Value:
        if not isinstance(items, Pending):
            return super().total(items, span)
        first = self.builder.constant(0.0 if items.type == F64 else 0)
        if items.strided:
            return self.folded(
                items.size, first, lambda k, total: self.added([total, items.at(k)], span), span
            )
        if items.size > MAX_ADDED:
            raise NotCompiled(f"a sum of more than {MAX_ADDED} elements is not compiled", span)
        return self.added([first, self.halves(items, 0, items.size, span)], span)

    def folded(
        self, size: int, first: Value, step: Callable[[Value, Value], Value], span: Span
    ) -> Value:
        """Adds a loop of so many turns, in which `step` makes a number of the turn's number and
        what the one before made."""
        self.count(span)
        number, before, after = Value(I64), Value(first.type), Value(first.type)
        with self.builder.inside(Block((number, before))) as body:
            body.results = (step(number, before),)
        self.builder.add(For(self.builder.constant(size), (first,), body, (after,)))
        return after

    def halves(self, items: Pending, low: int, size: int, span: Span) -> Value:
        """The sum of elements, in the order of NumPy: of two halves, if they are many."""
        if size <= BLOCK:
            return self.block_sum(items, low, size, span)
        half = size // 2 // 8 * 8
        ends = [(low, half), (low + half, size - half)]
        return self.added([self.halves(items, *end, span) for end in ends], span)

    def block_sum(self, items: Pending, low: int, size: int, span: Span) -> Value:
        """The sum of the elements of a block: eight sums in a loop, and then what is left over."""
        builder, turns = self.builder, size // 8
        self.count(span, 24)
        each = [items.at(builder.constant(k)) for k in range(low, low + min(size, 8))]
        if turns < 1:
            return self.added(each, span)
        number, carried = Value(I64), [Value(v.type) for v in each]
        with builder.inside(Block((number, *carried))) as body:
            begin = self.sum_of_ints([self.times(number, 8), builder.constant(low + 8)])
            more = [items.at(self.sum_of_ints([begin, builder.constant(k)])) for k in range(8)]
            pairs = zip(carried, more, strict=True)
            body.results = tuple([self.added(pair, span) for pair in pairs])
        sums = [Value(v.type) for v in each]
        builder.add(For(builder.constant(turns - 1), tuple(each), body, tuple(sums)))
        while len(sums) > 1:
            sums = [self.added(sums[k : k + 2], span) for k in range(0, len(sums), 2)]
        rest = [items.at(builder.constant(k)) for k in range(low + turns * 8, low + size)]
        return self.added([*sums, *rest], span)

    # ---- elements and parts ----------------------------------------------------------------------

    def stored_part(self, held: Stored, steps: Sequence[Step], span: Span) -> Any:
        """An element of an array, a row or a part of it."""
        part = self.part_at(held, steps, span)
        pending = self.part_of(held, part)
        if not part.shape:
            return pending.at(self.builder.constant(0))
        is_one = is_many(pending.shape)
        return pending if is_one else self.unpacked(pending, span)

    def part_of(self, held: Stored, part: Part) -> Pending:
        def at(place: Value) -> Value:
            return self.builder.element(held.value, part.place(place))

        return Pending(part.shape, held.type.element, at)

    def stored_with(self, held: Stored, steps: Sequence[Step], value: Any, span: Span) -> Stored:
        """An array with another value where `stored_part` reads."""
        part = self.part_at(held, steps, span)
        kind, size = held.type.element, prod(part.shape)
        value = self.operand(value, span) if size > FEW else self.as_array(value, span)
        if isinstance(value, Array | Pending) and value.shape != part.shape:
            raise NotCompiled("a value that is broadcast into a part is not compiled", span)

        def put(array: Value, place: Value) -> Value:
            number = value.at(place) if isinstance(value, Pending) else value
            return self.builder.put(array, part.place(place), self.as_element(number, kind, span))

        if size > FEW:
            return Stored(self.at_each_place(held.value, size, put, span), held.variable)
        array = held.value
        numbers = value.items if isinstance(value, Array) else [value] * size
        for k, number in enumerate(numbers):
            place = part.place(self.builder.constant(k))
            array = self.builder.put(array, place, self.as_element(number, kind, span))
        return Stored(array, held.variable)

    def as_element(self, number: Any, kind: Scalar, span: Span) -> Value:
        """A number as an element of an array of some type."""
        if kind != F64 and (isinstance(number, Mixed) or number.type == F64):
            raise NotCompiled("a float doesn't fit into an array of ints", span)
        return self.as_type(number, kind, span)

    def part_at(self, held: Stored, steps: Sequence[Step], span: Span) -> Part:
        """The part that ints and slices lead to."""
        if len(steps) > len(held.shape):
            raise NotCompiled("there are more indices here than axes", span)
        self.count(span)
        terms, axes = [], []  # of each axis that stays: the indices, and the distance of two
        every = [slice(None)] * (len(held.shape) - len(steps))
        for k, step in enumerate([*steps, *every]):
            n, size = held.shape[k], prod(held.shape[k + 1 :])
            if isinstance(step, slice):
                picked = range(n)[step]
                if picked.step < 0:
                    raise NotCompiled("a part that goes backwards is not compiled", span)
                axes.append((len(picked), picked.step * size))
                terms.append(self.builder.constant(picked.start * size))
            else:
                terms.append(self.times(self.counted_from_0(step, n, span), size))
        shape, first = tuple([n for n, _ in axes]), self.sum_of_ints(terms)

        def place(k: Value) -> Value:
            if all(step == prod(shape[a + 1 :]) for a, (_, step) in enumerate(axes)):
                return self.sum_of_ints([first, k])  # of whole rows
            moves = [self.times(self.digit(k, a, shape), step) for a, (_, step) in enumerate(axes)]
            return self.sum_of_ints([first, *moves])

        return Part(shape, place)

    def counted_from_0(self, at: Value, n: int | Value, span: Span) -> Value:
        """An index from 0 into so many items, after a check that it is in range, unless it is known
        to be."""
        builder, known = self.builder, self.builder.known.get(at)
        if known is not None and isinstance(n, int):
            if not -n <= known < n:
                raise NotCompiled("this index is out of range", span)
            return builder.constant(known % n)
        size = n if isinstance(n, Value) else builder.constant(n)
        zero = builder.constant(0)
        from_end = builder.apply("lt", [at, zero], span)
        below = builder.apply("add", [at, size], span)
        found = builder.apply("where", [from_end, below, at], span)
        builder.add(Check(builder.apply("le", [zero, found], span)))
        builder.add(Check(builder.apply("lt", [found, size], span)))
        return found
