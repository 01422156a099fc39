"""Reductions of arrays in IR, with NumPy's bits: of all elements, or of those along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf
from typing import Any, NamedTuple, TypeAlias

from ...backends.backend import INT_MAX, INT_MIN
from ...ir.instructions import Call, Check, Value
from ...ir.types import BOOL, FLOATS, I64, ArrayType, Scalar, is_float, strides
from ...passes.calls import Regions
from ..held.kinds import Array, Stored, Table, is_many
from ..held.names import NotCompiled
from ..values.elements import Elements
from ..values.stored import Indices, Pending
from .sums import summing

EXACT = 4096  # elements of an expression, at most, whose sum always has NumPy's order


class Lines(NamedTuple):
    """An array of many elements, to be reduced as a whole or along an axis. Of an array of one axis
    it may be only the first elements, as many as are `filled`."""

    elements: Pending
    axis: int | None = None
    filled: Value | None = None

    @property
    def type(self) -> Scalar:
        return self.elements.type

    @property
    def size(self) -> int:
        """The number of elements that are combined with each other."""
        return self.elements.size if self.axis is None else self.elements.shape[self.axis]


Group: TypeAlias = Sequence[Value] | Lines  # elements that are reduced together
Found: TypeAlias = Any  # the result of a group: a number, or a `Pending` with one for each line

_FIRST: dict[str, dict[Scalar, Any]] = {
    "maximum": {**dict.fromkeys(FLOATS, -inf), I64: INT_MIN},
    "minimum": {**dict.fromkeys(FLOATS, inf), I64: INT_MAX},
    "or": {BOOL: False},
    "and": {BOOL: True},
    "add": {**dict.fromkeys(FLOATS, 0.0), I64: 0},
}

Options = Mapping[str, Any]


def number_of(items: Group) -> int:
    """The known number of elements of a group."""
    assert not isinstance(items, Lines) or items.filled is None
    return items.size if isinstance(items, Lines) else len(items)


def type_of(items: Group) -> Any:
    """The type of the elements of a group, where they have one."""
    return items.type if isinstance(items, Lines) else items[0].type


def _types(items: Group) -> set[Any]:
    return {items.type} if isinstance(items, Lines) else {item.type for item in items}


class Reductions(Elements):
    """The lowering of reductions: sums, means, norms, `any` and `all`.

    regions  those that the region may call
    """

    regions: Regions

    def total(self, items: Group) -> Found:
        """The sum of elements. The sum of an expression of more than `EXACT` elements, with
        operands that are broadcast, adds the sums of its rows."""
        if not isinstance(items, Lines):
            return super().total(items)
        pending, axis, filled = items
        if filled is not None and is_float(pending.type):
            return self.sum_of_first(pending, filled)
        if axis is None and pending.flat is None and pending.operations:
            if pending.size <= EXACT:
                return self.total(Lines(self.ready(pending)))
            if len(pending.shape) > 1:
                rows = Lines(pending, len(pending.shape) - 1)
                return self.total(Lines(self.combined("add", rows)))
        return self.combined("add", items)

    def sum_of_first(self, pending: Pending, filled: Value) -> Value:
        """The sum of the first elements of an array of floats."""
        kind = ArrayType(pending.type, pending.shape)
        name = f"sum_of_{pending.type.name}s_{pending.size}"
        if not self.regions.has(name):
            self.regions.add(summing(kind, name))
        given = (self.made(pending), self.builder.constant(0), filled)
        result = Value(pending.type)
        self.builder.add(Call(name, given, (result,), self.builder.span))
        return result

    def combined(self, way: str, items: Lines) -> Found:
        """The elements of lines, combined in a way of `each`."""
        (pending, axis, filled), builder = items, self.builder
        first = builder.number(_FIRST[way][pending.type], pending.type)
        if filled is not None:

            def among_first(indices: Indices) -> list[Value]:
                is_there = builder.apply("lt", [indices[0], filled])
                return [builder.apply("where", [is_there, pending.at(indices), first])]

            return self.over(pending.shape, [(way, first)], among_first)[0]
        if axis is None:
            flat, at = pending.flat, pending.at
            shape = pending.shape if flat is None else (pending.size,)

            def number(indices: Indices) -> list[Value]:
                return [at(indices) if flat is None else flat(indices[0])]

            return self.over(shape, [(way, first)], number)[0]
        shape = tuple([n for k, n in enumerate(pending.shape) if k != axis])
        if not shape:
            return self.over(pending.shape, [(way, first)], lambda k: [pending.at(k)])[0]
        steps = strides(shape)

        def along(indices: Indices) -> list[Value]:
            kept = [index for k, index in enumerate(indices) if k != axis]
            return [pending.at(indices), builder.place(kept, steps)]

        array = builder.filled(ArrayType(pending.type, shape), first)
        [found] = self.over(pending.shape, [(way, array)], along)
        return self.elements(Stored(found))

    def each(self, items: Group, change: Callable[..., Value], *beside: Found) -> Group:
        """Changes each element, which may depend on the numbers that its group has `beside`."""
        if not isinstance(items, Lines):
            return [change(item, *beside) for item in items]
        pending, axis, filled = items
        spread = [self.along_axis(found, pending, axis) for found in beside]
        return Lines(self.mapped(change, [pending, *spread]), axis, filled)

    def along_axis(self, found: Found, like: Pending, axis: int | None) -> Found:
        """A number for each line, repeated for each element of the line."""
        if not isinstance(found, Pending):
            return found
        assert axis is not None
        found = self.ready(found)

        def at(indices: Indices) -> Value:
            value: Value = found.at([k for n, k in enumerate(indices) if n != axis])
            return value

        return Pending(like.shape, found.type, at)

    def of_found(self, change: Callable[..., Value], found: Sequence[Found]) -> Found:
        """Changes the numbers that groups have."""
        if any(isinstance(each, Pending) for each in found):
            return self.mapped(change, found)
        return change(*found)

    # ---- what is reduced -------------------------------------------------------------------------

    def only(self, options: Options, names: Sequence[str]) -> None:
        """Raises NotCompiled for options other than these."""
        for name in options:
            if name not in names:
                raise NotCompiled(f"`{name} =` is not compiled")

    def some_array(self, held: Any, whole: bool = False) -> Array:
        """What is held, as an array. `whole`: no element is read on its own."""
        found = self.any_array(held, whole)
        return found if isinstance(found, Array) else self.unpacked(found)

    def any_array(self, held: Any, whole: bool = False) -> Array | Stored | Pending:
        """The same, as one value or pending if it has many elements."""
        if not isinstance(held, Stored | Pending):
            held = self.stacked(held) if whole else self.as_array(held)
        if not isinstance(held, Array | Stored | Pending):
            raise NotCompiled("a number is no array here")
        return held

    def some_elements(self, held: Any, whole: bool = False) -> Array:
        """The same, with at least one element."""
        found = self.some_array(held, whole)
        if not found.items:
            raise NotCompiled("a reduction of no elements is not compiled")
        return found

    def groups(self, array: Array, k: int) -> list[list[Value]]:
        """The elements that a reduction along an axis combines, of an array of one or two axes."""
        if len(array.shape) == 1:
            return [list(array.items)]
        width = array.shape[1]
        lines = [list(array.items[n : n + width]) for n in range(0, len(array.items), width)]
        return lines if k else [list(column) for column in zip(*lines, strict=True)]

    def axis(self, held: Any, shape: tuple[int, ...]) -> int:
        """A known axis of an array."""
        k, rank = self.known_int(held), len(shape)
        if not -rank <= k < rank:
            raise NotCompiled("reductions along this axis are not compiled")
        return k % rank

    def reduced(self, held: Any, options: Options, of: Callable[[Group], Found]) -> Any:
        """`of` the elements of an array, or of its lines along an axis."""
        self.only(options, ["axis", "keepdims"])
        axis = options.get("axis")
        if isinstance(held, Value) and isinstance(held.type, Scalar) and not options:
            return of([held])
        if isinstance(held, Pending) and not is_many(held.shape):
            held = self.whole(held)
        if "keepdims" in options and self.known_bool_of(options["keepdims"]):
            held = self.any_array(held)
            found = self.reduced(held, {"axis": axis}, of)
            return self.with_axis(found, held.shape, axis)
        if isinstance(held, Table) and axis is None:
            return of(self.first_numbers(held))
        array = self.any_array(held, whole=axis is None)
        if not isinstance(array, Array):
            return self.whole(of(self.lines(self.elements(array), axis)))
        array = self.some_elements(array, whole=axis is None)
        if axis is None:
            return of(list(array.items))
        k, rank = self.axis(axis, array.shape), len(array.shape)
        if rank > 2 or (rank > 1 and array.shape[k] >= 8):  # in the order of NumPy
            return self.whole(of(self.lines(self.elements(self.packed(array)), axis)))
        found = [of(group) for group in self.groups(array, k)]
        return self.array((len(found),), found) if rank > 1 else found[0]

    def first_numbers(self, held: Table) -> Lines:
        """The items of a table of numbers. Steps back where there are none."""
        column = held.columns
        if not (isinstance(column, Stored) and column.listed and len(column.shape) == 1):
            raise NotCompiled("a reduction of a list of such items is not compiled")
        self.builder.add(Check(self.builder.apply("gt", [held.count, self.builder.constant(0)])))
        return Lines(self.elements(column), None, held.count)

    def known_bool_of(self, held: Any) -> bool:
        known = self.builder.known.get(held)
        if type(known) is not bool:
            raise NotCompiled("whether axes are kept isn't known")
        return known

    def with_axis(self, found: Any, shape: tuple[int, ...], axis: Any) -> Any:
        """The result of a reduction of an array of a shape, with an axis of one element in place of
        each that was reduced."""
        if isinstance(found, Value):
            assert isinstance(found.type, Scalar)
            return Array((1,) * len(shape), (found,), found.type)
        k = self.axis(axis, shape)
        kept = (*shape[:k], 1, *shape[k + 1 :])
        if isinstance(found, Array):
            return Array(kept, found.items, found.type)
        given = self.elements(found)
        flat = given.flat
        return Pending(kept, given.type, lambda at: given.at([*at[:k], *at[k + 1 :]]), flat)

    def lines(self, held: Pending, axis: Any) -> Lines:
        """All elements of an array, or its lines along an axis."""
        if 0 in held.shape:
            raise NotCompiled("a reduction of no elements is not compiled")
        k = None if axis is None else self.axis(axis, held.shape)
        if held.transposed is not None and len(held.shape) == 2:
            # in the order in which NumPy has its elements
            held = self.elements(Stored(held.transposed))
            k = None if k is None else 1 - k
        return Lines(held, k)

    def sum(self, operands: Sequence[Any], options: Options) -> Any:
        return self.reduced(operands[0], options, lambda items: self.total(self.numbers(items)))

    def numbers(self, items: Group) -> Group:
        """Bools as ints, for sums."""
        return self.as_all(items, I64) if type_of(items) == BOOL else items

    def as_all(self, items: Group, kind: Scalar) -> Group:
        """Elements as another type."""
        if isinstance(items, Lines) and items.type == kind:
            return items
        return self.each(items, lambda item: self.builder.cast(item, kind))

    def as_floats(self, items: Group) -> Group:
        """Ints and bools as floats."""
        is_done = is_float(type_of(items))
        return items if is_done else self.as_all(items, self.builder.real)

    def several(self, items: Group) -> Group:
        """Elements that can be read several times."""
        if not isinstance(items, Lines):
            return items
        return items._replace(elements=self.ready(items.elements))

    def size_of(self, items: Group) -> Value:
        """The number of elements of a group."""
        filled = items.filled if isinstance(items, Lines) else None
        return self.builder.constant(number_of(items)) if filled is None else filled

    def mean(self, operands: Sequence[Any], options: Options) -> Any:
        def of(items: Group) -> Found:
            total, size = self.total(self.as_floats(items)), self.size_of(items)
            divided = self.m.formula(lambda value: value / size)
            return self.of_found(divided, [total])

        return self.reduced(operands[0], options, of)

    def squares(self, items: Group) -> Group:
        """The squares of elements: not of their sizes, which have other derivatives."""
        return self.each(items, lambda item: self.builder.apply("mul", [item, item]))

    def norm(self, operands: Sequence[Any], options: Options) -> Any:
        """The root of the sum of squares. Steps back where the interpreter may scale: unless all
        elements are 0, or the sum is far from the ends of the range."""
        m = self.m

        @m.formula
        def is_safe(total: Any, sizes: Any) -> Any:
            zero, low, high = [self.builder.constant(edge) for edge in (0.0, 1e-280, 1e300)]
            is_zero = sizes == zero
            large_enough = m.where(is_zero, is_zero, total > low)
            return m.where(large_enough, total < high, large_enough)

        def of(items: Group) -> Found:
            items = self.several(self.as_floats(items))
            total = self.total(self.squares(items))
            sizes = self.total(self.each(items, m.formula(m.abs)))
            self.check_all(self.of_found(is_safe, [total, sizes]))
            return self.of_found(m.formula(m.sqrt), [total])

        return self.reduced(operands[0], options, of)

    def check_all(self, found: Found) -> None:
        """Steps back unless a condition holds for all groups."""
        if isinstance(found, Pending):
            found = self.combined("and", Lines(found))
        self.builder.add(Check(found))

    def truth(self, held: Any, options: Options, stop: bool) -> Any:
        """Whether any element is true; without `stop`, whether all are."""

        def either(found: Value, item: Value) -> Value:
            sides = (self.builder.constant(True), found) if stop else (found, item)
            return self.builder.apply("where", [item, *sides])

        def of(items: Group) -> Found:
            if any(kind != BOOL for kind in _types(items)):
                raise NotCompiled("`any` and `all` of numbers are not compiled")
            if isinstance(items, Lines):
                return self.combined("or" if stop else "and", items)
            return reduce(either, items, self.builder.constant(not stop))

        return self.reduced(held, options, of)

    def cumsum(self, operands: Sequence[Any], options: Options) -> Any:
        """The sums of the first elements, one for each element."""
        if isinstance(operands[0], Stored):
            return self.running_sums(operands[0], options)
        array = self.some_elements(operands[0])
        if len(array.shape) > 1 or options:
            raise NotCompiled("`cumsum` of more than one axis is not compiled")
        items = [
            self.builder.cast(item, I64) if item.type == BOOL else item for item in array.items
        ]
        totals = items[:1]
        for item in items[1:]:
            totals.append(self.added([totals[-1], item]))
        return self.tied(self.array(array.shape, totals))

    def running_sums(self, held: Stored, options: Options) -> Stored:
        """The same for many elements of one axis: a loop."""
        kind, builder = held.type.in_form(listed=False), self.builder
        if len(kind.shape) > 1 or options or kind.element == BOOL:
            raise NotCompiled("`cumsum` of more than one axis is not compiled")
        self.count()

        def add(place: Value, carried: Sequence[Value]) -> list[Value]:
            array, total = carried
            more = self.added([total, builder.element(held.value, place)])
            return [builder.put(array, place, more), more]

        first = [builder.room(kind), builder.zero(kind.element)]
        return Stored(builder.loop(builder.constant(kind.size), first, add)[0])
