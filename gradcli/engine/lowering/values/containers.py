"""Dicts, and lists in memory, in IR. The key of an item of a dict may be one of several strings.
Lists in memory are lists of many numbers, and tables, which are lists of items of one form.

A list of numbers is one value, as an array is, where a program changes it at an index that isn't
known. Its numbers are those of a list: a number of another type, or a row of another length,
doesn't fit into it.

A list is a table where it has many rows, or a loop over it has a long body, so that a loop goes
through them; and where its number of items isn't known, as where a loop appends to it under a
condition. Such a table has room for some number of items; where that is too little, the region
steps back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...ir.instructions import Check, Value
from ...ir.types import BOOL, ArrayType, Scalar
from ..held.columns import (
    array_type,
    columns_of,
    in_memory,
    is_list,
    item_of,
    room_of,
    table,
)
from ..held.kinds import (
    FEW,
    Array,
    Kind,
    ListOrArray,
    Record,
    Stored,
    Table,
    Word,
    flat,
    kind_of,
    leaves,
    with_parts,
)
from ..held.names import Fails, NotCompiled
from .arrays import MAX_ELEMENTS
from .parts import Parts, Step
from .stored import Pending

Key = str | Word
# One step to the target of an assignment: a key, or an index in brackets.
Path = Key | Sequence[Step]

# What a dict is asked for by a member, unless it has a key of this name.
VIEWS: dict[str, Callable[[Record], Iterable[Any]]] = {
    "keys": lambda held: held.keys,
    "values": lambda held: held.items,
    "items": lambda held: zip(held.keys, held.items, strict=True),
}


class Containers(Parts):
    """The lowering of dicts, and of lists in memory.

    puts_lists_in_memory  whether it puts lists of numbers in memory
    """

    puts_lists_in_memory = False

    # ---- dicts -----------------------------------------------------------------------------------

    def item(self, held: Any, key: Any) -> Any:
        """The item of a dict under a key."""
        if isinstance(key, Word):
            return self.for_one(key.place, key.among, lambda word: self.item(held, word))
        if not isinstance(held, Record) or not isinstance(key, str):
            raise NotCompiled("there is no dict here, or no key")
        if key not in held.keys:
            raise Fails("this dict has no such key")
        return self.known(held.items[held.keys.index(key)])

    def for_one(
        self, place: Value, things: Sequence[Any], then: Callable[[Any], Any], first: int = 0
    ) -> Any:
        """What `then` gives for the thing at a place, which is `first` or behind that."""
        if first == len(things) - 1:
            return then(things[first])
        return self.either(
            self.builder.apply("eq", [place, self.builder.constant(first)]),
            lambda: then(things[first]),
            lambda: self.for_one(place, things, then, first + 1),
        )

    def with_item(self, held: Any, key: Key, value: Any) -> Record:
        """A dict with another item under a key, or with one more."""
        if not isinstance(held, Record):
            raise NotCompiled("there is no dict here")
        items = dict(zip(held.keys, held.items, strict=True))
        if not isinstance(key, Word):
            items[key] = value
        elif not items.keys() >= {*key.among}:
            raise NotCompiled("a dict that may get one of several keys is not compiled")
        else:
            for k, word in enumerate(key.among):
                is_here = self.builder.apply("eq", [key.place, self.builder.constant(k)])
                items[word] = self.one_of(is_here, value, items[word])
        return Record(tuple(items), tuple(items.values()))

    def sequence(self, held: Any) -> Any:
        """What a loop over something goes through: the keys of a dict, or the thing itself."""
        return held.keys if isinstance(held, Record) else held

    def one_of(self, condition: Any, a: Any, b: Any) -> Any:
        """One of two things, where there may be anything."""
        return self.either(condition, lambda: a, lambda: b)

    def part(self, held: Any, steps: Sequence[Step]) -> Any:
        raise NotImplementedError

    def with_part(self, held: Any, steps: Sequence[Step], value: Any) -> Any:
        raise NotImplementedError

    # ---- lists of many numbers -------------------------------------------------------------------

    def together(self, held: Any, path: Sequence[Path]) -> Sequence[Path]:
        """A path, with the ints in brackets one after another in one: `m[i][j]` of an array or a
        list in memory is `m[i, j]`."""
        ints, rows = _leading_ints(path)
        if not isinstance(held, Stored) or not ints or len(ints) > len(held.shape):
            return path
        return [ints, *path[rows:]]

    def changed_in_memory(self, held: Any, path: Sequence[Path], value: Any) -> Any:
        """A list that is about to be changed at a path, in memory if it has many numbers and
        nothing tells where it changes."""
        ints, rows = _leading_ints(path)
        if not self.puts_lists_in_memory or type(held) is not tuple or rows < len(path):
            return held
        kind = array_type(kind_of(held))
        if kind is None or kind.size <= FEW or len(ints) > len(kind.shape):
            return held
        is_known = all(step in self.builder.known for step in ints)
        if is_known or not fits(value, kind.element, kind.shape[len(ints) :]):
            return held
        return in_memory(self.builder, held, kind)

    def list_with(self, held: Stored, steps: Sequence[Step], value: Any) -> Stored:
        """A list of many numbers with another number, or other numbers, at some ints."""
        is_at_ints = all(isinstance(step, Value) for step in steps)
        if not is_at_ints or not fits(value, held.type.element, held.shape[len(steps) :]):
            raise NotCompiled("this change of a list of many numbers is not compiled")
        put = self.stacked(value) if type(value) is tuple else value
        return self.stored_with(held, steps, put)

    # ---- tables of rows that are known or given --------------------------------------------------

    def as_table(self, held: Any, few: int = MAX_ELEMENTS) -> Any:
        """A list of more than `few` rows of one form, all of whose numbers are known or computed
        from such numbers, in memory; anything else as it is."""
        if type(held) is not tuple or len(held) <= few or not self._is_table(held):
            return held
        columns = columns_of(kind_of(held[0]), len(held))
        if columns is None:
            return held
        found = table(self.builder, held, columns)
        return found.columns if isinstance(found.columns, Stored) else found

    def _is_table(self, held: tuple[Any, ...]) -> bool:
        kind = kind_of(held[0])
        numbers = all(isinstance(leaf, Scalar) and leaf != BOOL for leaf in leaves(kind))
        is_one = numbers and all(kind_of(item) == kind for item in held)
        values = list(flat(held)) if is_one else []
        return bool(values) and self.is_constant(values)

    # ---- long lists as arrays --------------------------------------------------------------------

    def stacked(self, held: Any) -> Any:
        return self.filled_part(held) if isinstance(held, Table) else super().stacked(held)

    def filled_part(self, held: Table) -> Stored | Array | Pending:
        """A list in memory as an array. Its length must be known."""
        count, columns = self.builder.known.get(held.count), held.columns
        if isinstance(columns, ListOrArray):
            columns = columns.array
        if count is None or not isinstance(columns, Stored):
            raise NotCompiled(
                "a list of such items, or of unknown length, is not compiled as array"
            )
        is_all = count == columns.shape[0] and not columns.listed
        return columns if is_all else self.stored_part(columns, [slice(None, count)])

    # ---- tables: reading -------------------------------------------------------------------------

    def in_items(self, held: Any) -> Any:
        """What is held, with a list in memory that is known to be short as its items."""
        if isinstance(held, tuple | Record):
            return with_parts(held, lambda part: self.in_items(part))
        count = self.builder.known.get(held.count) if isinstance(held, Table) else None
        if count is None or count > MAX_ELEMENTS:
            return held
        places = map(self.builder.constant, range(count))
        return tuple([self.row(held.columns, place) for place in places])

    def row(self, columns: Any, index: Value) -> Any:
        """The item of a table at an index that is in range."""
        if isinstance(columns, Stored) and columns.listed and len(columns.shape) == 1:
            return self.builder.element(columns.value, index)
        if isinstance(columns, Stored):
            return self.whole(self.part(columns, [index]))
        if isinstance(columns, ListOrArray):
            numbers = self.row(columns.array, index)
            return ListOrArray(self.row(columns.is_list, index), self.whole(self.stacked(numbers)))
        return with_parts(columns, lambda part: self.row(part, index))

    def part_of_table(self, held: Table, steps: Sequence[Step]) -> Any:
        at, *rest = steps
        if isinstance(at, slice):
            return self.part(self.as_array(held), steps) if rest else self.slice_of_table(held, at)
        return self.part(self.row(held.columns, self.place_in(held, at)), rest)

    def slice_of_table(self, held: Table, at: slice) -> Any:
        """A slice of a table. From the start, it is in the same memory."""
        if at.step not in (None, 1):
            items = self.in_items(held)
            if items is held:
                raise NotCompiled("a slice of this list with a step is not compiled")
            return items[at]
        apply = self.builder.apply
        end = held.count if at.stop is None else self.bound_in(held.count, at.stop)
        if at.start in (None, 0):
            return Table(held.columns, end)
        start = apply("minimum", [self.bound_in(held.count, at.start), end])
        size = apply("sub", [end, start])
        return Table(self.moved_up(held.columns, start, size), size)

    def bound_in(self, count: Value, bound: int) -> Value:
        """A known bound of a slice of so many items, as a place among them."""
        m, known = self.m, self.builder.constant(bound)
        place = m.minimum(known, count) if bound >= 0 else m.maximum(m.add(count, known), 0)
        return m.value(place)

    def moved_up(self, columns: Any, start: Value, size: Value) -> Any:
        """The columns with the items from a place on, so many, as the first ones. Behind these,
        there may be anything."""
        if not isinstance(columns, Stored):
            return with_parts(columns, lambda part: self.moved_up(part, start, size))
        builder = self.builder
        width = builder.constant(columns.type.size // columns.shape[0])
        distance, elements = [builder.apply("mul", [n, width]) for n in (start, size)]

        def body(place: Value, carried: Sequence[Value]) -> list[Value]:
            number = builder.element(carried[0], builder.apply("add", [place, distance]))
            return [builder.put(carried[0], place, number)]

        return Stored(builder.loop(elements, [columns.value], body)[0])

    def place_in(self, held: Table, at: Step) -> Value:
        """The place of an index into a table."""
        if not isinstance(at, Value):
            raise NotCompiled("only an int picks an item of this list")
        size: Any = self.builder.known.get(held.count, held.count)
        return self.counted_from_0(at, size)

    # ---- tables: changing ------------------------------------------------------------------------

    def appended(self, held: Table, item: Any) -> Table:
        """A table with one more item."""
        self.verify_fits(held, item)
        builder = self.builder
        size = builder.constant(room_of(kind_of(held.columns)))
        builder.add(Check(builder.apply("lt", [held.count, size])))
        columns = self.with_row(held.columns, held.count, item)
        return Table(columns, builder.apply("add", [held.count, builder.constant(1)]))

    def table_with(self, held: Table, steps: Sequence[Step], value: Any) -> Table:
        """A table with another item at an index, or with another part of that item."""
        at, *rest = steps
        place = self.place_in(held, at)
        if rest:
            value = self.with_part(self.row(held.columns, place), rest, value)
        self.verify_fits(held, value)
        return Table(self.with_row(held.columns, place, value), held.count)

    def verify_fits(self, held: Table, item: Any) -> None:
        """Raises NotCompiled unless a table can have an item."""
        columns, kinds = kind_of(held.columns), [kind_of(item)]
        if isinstance(columns, ListOrArray):
            kinds.append(kind_of(self.row(held.columns, self.builder.constant(0))))
        common = item_of(kinds)
        if common is None or columns_of(common, room_of(columns)) != columns:
            raise NotCompiled("a list of items of several forms is not compiled")

    def with_row(self, columns: Any, place: Value, item: Any) -> Any:
        """The columns with another item at a place."""
        if isinstance(columns, Stored) and isinstance(item, Value):
            return Stored(self.builder.put(columns.value, place, item))
        if isinstance(columns, Stored):
            put = self.list_with if columns.listed else self.stored_with
            return put(columns, [place], item)
        if isinstance(columns, ListOrArray):
            assert isinstance(columns.array, Stored)
            flags = self.with_row(columns.is_list, place, is_list(self.builder, item))
            array = self.stored_with(columns.array, [place], self.stacked(item))
            return ListOrArray(flags, array)
        if isinstance(columns, Record):
            return Record(columns.keys, self.with_row(columns.items, place, item.items))
        pairs = zip(columns, item, strict=True)
        return tuple([self.with_row(column, place, part) for column, part in pairs])


def _leading_ints(path: Sequence[Path]) -> tuple[list[Step], int]:
    """The ints with which a path begins, and how many of its steps these are."""
    ints: list[Step] = []
    for k, step in enumerate(path):
        if isinstance(step, Key) or not all(isinstance(each, Value) for each in step):
            return ints, k
        ints += step
    return ints, len(path)


def fits(value: Any, element: Scalar, shape: tuple[int, ...]) -> bool:
    """Whether a value is a number of a type, or lists of such numbers of a shape."""
    kind: Kind = kind_of(value)
    if not shape:
        return kind == element
    found = kind.type if isinstance(kind, Stored) and kind.listed else array_type(kind)
    return found == ArrayType(element, shape, listed=True)
