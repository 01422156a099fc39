"""Lists in memory in IR: lists of many numbers, and tables, which are lists of items of one form.

A list of numbers is one value, as an array is, where a program changes it at an index that isn't
known. Its numbers are those of a list: a number of another type, or a row of another length,
doesn't fit into it.

A list is a table where it has many rows, or a loop over it has a long body, so that a loop goes
through them; and where its number of items isn't known, as where a loop appends to it under a
condition. Such a table has room for some number of items; where that is too little, the region
steps back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import Span
from ...ir.instructions import Check, Value
from ...ir.numbers import Numbers
from ...ir.types import BOOL, ArrayType, Scalar
from ..held.columns import array_type, columns_of, in_memory, room_of, table
from ..held.kinds import FEW, Kind, Record, Stored, Table, flat, kind_of, leaves, plain, with_parts
from ..held.names import NotCompiled
from .arrays import MAX_ELEMENTS
from .dicts import Dicts, Key
from .parts import Step

# One step to the target of an assignment: a key, or an index in brackets.
Path = Key | Sequence[Step]


class Lists(Dicts):
    """The lowering of lists in memory.

    puts_lists_in_memory  whether it puts lists of numbers in memory
    """

    puts_lists_in_memory = False

    def part(self, held: Any, steps: Sequence[Step], span: Span) -> Any:
        raise NotImplementedError

    def with_part(self, held: Any, steps: Sequence[Step], value: Any, span: Span) -> Any:
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

    def list_with(self, held: Stored, steps: Sequence[Step], value: Any, span: Span) -> Stored:
        """A list of many numbers with another number, or other numbers, at some ints."""
        is_at_ints = all(isinstance(step, Value) for step in steps)
        if not is_at_ints or not fits(value, held.type.element, held.shape[len(steps) :]):
            raise NotCompiled("this change of a list of many numbers is not compiled", span)
        put = self.stacked(value, span) if type(value) is tuple else value
        return self.stored_with(held, steps, put, span)

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

    # ---- tables: reading -------------------------------------------------------------------------

    def in_items(self, held: Any, span: Span) -> Any:
        """What is held, with a list in memory that is known to be short as its items."""
        if isinstance(held, tuple | Record):
            return with_parts(held, lambda part: self.in_items(part, span))
        count = self.builder.known.get(held.count) if isinstance(held, Table) else None
        if count is None or count > MAX_ELEMENTS:
            return held
        places = map(self.builder.constant, range(count))
        return tuple([self.row(held.columns, place, span) for place in places])

    def row(self, columns: Any, index: Value, span: Span) -> Any:
        """The item of a table at an index that is in range."""
        if isinstance(columns, Stored) and columns.listed and len(columns.shape) == 1:
            return self.builder.element(columns.value, index)
        if isinstance(columns, Stored):
            return self.whole(self.part(columns, [index], span), span)
        return with_parts(columns, lambda part: self.row(part, index, span))

    def part_of_table(self, held: Table, steps: Sequence[Step], span: Span) -> Any:
        at, *rest = steps
        if isinstance(at, slice) and not rest:
            return self.slice_of_table(held, at, span)
        return self.part(self.row(held.columns, self.place_in(held, at, span), span), rest, span)

    def slice_of_table(self, held: Table, at: slice, span: Span) -> Any:
        """A slice of a table. From the start, it is in the same memory."""
        if at.step not in (None, 1):
            items = self.in_items(held, span)
            if items is held:
                raise NotCompiled("a slice of this list with a step is not compiled", span)
            return items[at]
        apply = self.builder.apply
        end = held.count if at.stop is None else self.bound_in(held.count, at.stop, span)
        if at.start in (None, 0):
            return Table(held.columns, end)
        start = apply("minimum", [self.bound_in(held.count, at.start, span), end], span)
        return Table(self.moved_up(held.columns, start), apply("sub", [end, start], span))

    def bound_in(self, count: Value, bound: int, span: Span) -> Value:
        """A known bound of a slice of so many items, as a place among them."""
        m, known = Numbers(self.builder, span), self.builder.constant(bound)
        place = m.minimum(known, count) if bound >= 0 else m.maximum(m.add(count, known), 0)
        return m.value(place)

    def moved_up(self, columns: Any, start: Value) -> Any:
        """The columns without the items before a place. Behind the items, there may be anything."""
        if not isinstance(columns, Stored):
            return with_parts(columns, lambda part: self.moved_up(part, start))
        builder, room = self.builder, columns.shape[0]
        width = columns.type.size // room

        def body(indices: Sequence[Value]) -> list[Value]:
            item, k = indices
            there = builder.apply("add", [item, start])
            there = builder.apply("minimum", [there, builder.constant(room - 1)])
            number = builder.element(columns.value, builder.place([there, k], [width, 1]))
            return [number, builder.place(indices, [width, 1])]

        ways = [("put", builder.room(columns.type))]
        return Stored(builder.each((room, width), ways, body)[0])

    def place_in(self, held: Table, at: Step, span: Span) -> Value:
        """The place of an index into a table."""
        if not isinstance(at, Value):
            raise NotCompiled("only an int picks an item of this list", span)
        size: Any = self.builder.known.get(held.count, held.count)
        return self.counted_from_0(at, size, span)

    # ---- tables: changing ------------------------------------------------------------------------

    def appended(self, held: Table, item: Any, span: Span) -> Table:
        """A table with one more item."""
        self.verify_fits(held, item, span)
        builder = self.builder
        size = builder.constant(room_of(kind_of(held.columns)))
        builder.add(Check(builder.apply("lt", [held.count, size], span)))
        columns = self.with_row(held.columns, held.count, item, span)
        return Table(columns, builder.apply("add", [held.count, builder.constant(1)], span))

    def table_with(self, held: Table, steps: Sequence[Step], value: Any, span: Span) -> Table:
        """A table with another item at an index, or with another part of that item."""
        at, *rest = steps
        place = self.place_in(held, at, span)
        if rest:
            value = self.with_part(self.row(held.columns, place, span), rest, value, span)
        self.verify_fits(held, value, span)
        return Table(self.with_row(held.columns, place, value, span), held.count)

    def verify_fits(self, held: Table, item: Any, span: Span) -> None:
        """Raises NotCompiled unless a table can have an item."""
        columns = kind_of(held.columns)
        if columns_of(plain(kind_of(item)), room_of(columns)) != columns:
            raise NotCompiled("a list of items of several forms is not compiled", span)

    def with_row(self, columns: Any, place: Value, item: Any, span: Span) -> Any:
        """The columns with another item at a place."""
        if isinstance(columns, Stored) and isinstance(item, Value):
            return Stored(self.builder.put(columns.value, place, item))
        if isinstance(columns, Stored):
            put = self.list_with if columns.listed else self.stored_with
            return put(columns, [place], item, span)
        if isinstance(columns, Record):
            return Record(columns.keys, self.with_row(columns.items, place, item.items, span))
        pairs = zip(columns, item, strict=True)
        return tuple([self.with_row(column, place, part, span) for column, part in pairs])


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
