"""Lists in memory: as arrays, or as the columns of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...ir.builder import Builder
from ...ir.instructions import Value
from ...ir.types import BOOL, I64, ArrayType, Scalar, element_of, elements_of
from .kinds import (
    Array,
    Kind,
    ListOrArray,
    Record,
    Stored,
    Table,
    array_kind,
    flat,
    items_in,
    plain,
    rebuilt,
)

# Items of a list whose length isn't known, at most. Arrays of rows are side by side in memory.
ROOM, ROOM_ON_ROWS = 2**14, 2**10
LARGEST = 2**22  # elements of a column


def array_type(kind: Kind) -> ArrayType | None:
    """The type of a list of numbers, or of lists of numbers of one length, as an array. None for
    anything else, also for a list of ints and floats."""
    if not isinstance(kind, tuple) or not kind:
        return None
    first, n = kind[0], len(kind)
    if any(item != first for item in kind) or first == BOOL:
        return None
    if isinstance(first, Scalar):
        return ArrayType(first, (n,), listed=True)
    row = array_type(first)
    return None if row is None else ArrayType(row.element, (n, *row.shape), listed=True)


def in_memory(builder: Builder, held: tuple[Any, ...], kind: ArrayType) -> Stored:
    """A list of numbers, or of lists of these, as one value."""
    return Stored(filled(builder, kind, flat(held)))


def columns_of(item: Kind, room: int) -> Kind | None:
    """The kind of the columns of a table with room for items of a kind; None if there is none, or
    if they would be large."""
    if isinstance(item, Scalar):
        return Stored(ArrayType(item, (room,), listed=True))
    if isinstance(item, ListOrArray):  # as those of lists, whose numbers depend on nothing else
        own = item.array
        row = own.type if isinstance(own, Stored) else ArrayType(own.type, own.shape)
        array = Stored(ArrayType(row.element, (room, *row.shape), listed=True))
        is_list = Stored(ArrayType(BOOL, (room,), listed=True))
        return ListOrArray(is_list, array) if 0 < array.type.size <= LARGEST else None
    listed = item.listed if isinstance(item, Stored) else not isinstance(item, Array)
    if isinstance(item, Array):
        whole: ArrayType | None = ArrayType(item.type, item.shape)
    else:
        whole = item.type if isinstance(item, Stored) else array_type(item)
    if whole is not None:
        column = ArrayType(whole.element, (room, *whole.shape), listed)
        return Stored(column) if 0 < column.size <= LARGEST else None
    if not isinstance(item, tuple | Record):
        return None
    items = items_in(item)
    parts = [part for each in items if (part := columns_of(each, room)) is not None]
    if not parts or len(parts) < len(items):
        return None
    return Record(item.keys, (*parts,)) if isinstance(item, Record) else (*parts,)


def room_of(columns: Kind) -> int:
    """The number of items for which a table with these columns has room."""
    first: ArrayType = next(flat(columns))
    room: int = first.shape[0]
    return room


def _with_room(columns: Kind, room: int) -> Any:
    """The same columns with another room."""
    kinds = [
        ArrayType(each.element, (room, *each.shape[1:]), listed=True) for each in flat(columns)
    ]
    return rebuilt(columns, iter(kinds))


def array_of(kind: Kind) -> Array | Stored | None:
    """The kind of an array, or that of a list of numbers as an array; None for anything else."""
    if isinstance(kind, ListOrArray):
        return kind.array
    if isinstance(kind, Array) or (isinstance(kind, Stored) and not kind.listed):
        return kind
    found = kind.type if isinstance(kind, Stored) else array_type(kind)
    return None if found is None else array_kind(found.in_form(listed=False))


def item_of(kinds: Iterable[Kind]) -> Kind | None:
    """The kind of the items of a table that may have all these kinds; None if there is none."""
    found: set[Kind] = set(map(plain, kinds))
    if len(found) == 1:
        return next(iter(found))
    arrays = set(map(array_of, found))
    array = arrays.pop() if len(arrays) == 1 else None
    return None if array is None else ListOrArray(BOOL, array)


def table_of(a: Kind, b: Kind, room: int) -> Table | None:
    """The kind of the table that two lists become; None if they become none. Where one is a table
    already, it has room for the items of both, or else `room`; there is none without room."""
    if tables := [room_of(kind.columns) for kind in (a, b) if isinstance(kind, Table)]:
        room = max(*tables, *[_length(kind) + 1 for kind in (a, b)])
    found: set[Kind | None] = set()
    items: list[Kind] = []
    for kind in (a, b):
        if isinstance(kind, Table) and isinstance(kind.columns, ListOrArray):
            array = kind.columns.array
            assert isinstance(array, Stored)
            row = ArrayType(array.type.element, array.shape[1:])
            items.append(ListOrArray(BOOL, array_kind(row)))
        elif isinstance(kind, Table):
            found.add(_with_room(kind.columns, room))
        elif isinstance(kind, tuple) and len(kind) < room:
            items += kind
        elif isinstance(kind, Stored) and kind.listed and kind.shape[0] < room:
            whole = ArrayType(kind.type.element, (room, *kind.shape[1:]), listed=True)
            found.add(Stored(whole))
        else:
            return None
    if items:
        item = item_of(items)
        found.add(None if item is None else columns_of(item, room))
    columns = found.pop() if len(found) == 1 else None
    return None if columns is None else Table(columns, I64)


def _length(kind: Kind) -> int:
    """The number of items of a list; 0 for a table, or anything else."""
    if isinstance(kind, Stored) and kind.listed:
        return kind.shape[0]
    return len(kind) if isinstance(kind, tuple) else 0


def table(builder: Builder, held: Any, columns: Kind) -> Table:
    """A list, or a table with less room, as a table with columns of a kind."""
    if isinstance(held, Table):
        pairs = zip(flat(columns), flat(held.columns), strict=True)
        wider = [filled(builder, kind, [column]) for kind, column in pairs]
        return Table(rebuilt(columns, iter(wider)), held.count)
    is_one = isinstance(held, Stored)
    size = held.shape[0] if is_one else len(held)
    return Table(_filled(builder, [held] if is_one else held, columns), builder.constant(size))


def _filled(builder: Builder, items: Sequence[Any], columns: Kind) -> Any:
    """The columns of a table, with items at their first places. A list that is in memory is given
    as one item."""
    if isinstance(columns, Stored):
        return Stored(filled(builder, columns.type, flat(*items)))
    if isinstance(columns, ListOrArray):
        flags = [is_list(builder, item) for item in items]
        arrays = [item.array if isinstance(item, ListOrArray) else item for item in items]
        columns = columns.is_list, columns.array
        return ListOrArray(*_filled(builder, [*zip(flags, arrays, strict=True)], columns))
    if isinstance(columns, Record):
        rows = [item.items for item in items]
        return Record(columns.keys, _filled(builder, rows, columns.items))
    assert isinstance(columns, tuple)
    parts = zip(*items, strict=True) if items else [()] * len(columns)
    pairs = zip(parts, columns, strict=True)
    return tuple([_filled(builder, part, column) for part, column in pairs])


def is_list(builder: Builder, held: Any) -> Value:
    """Whether numbers are a list, and no array."""
    if isinstance(held, ListOrArray):
        found: Value = held.is_list
        return found
    listed = type(held) is tuple or (isinstance(held, Stored) and held.listed)
    return builder.constant(listed)


def filled(builder: Builder, kind: ArrayType, parts: Iterable[Value]) -> Value:
    """An array of a type whose first elements are the numbers, and those of the arrays, in
    `parts`."""
    array, place = builder.room(kind), 0
    for part in parts:
        array = _with(builder, array, place, part)
        place += elements_of(part.type)
    return array


def _with(builder: Builder, array: Value, place: int, part: Value) -> Value:
    """An array with a number, or all numbers of another array, from a place on."""
    kind = element_of(array.type)
    if not isinstance(part.type, ArrayType):
        return builder.put(array, builder.constant(place), builder.cast(part, kind))

    def body(indices: Sequence[Value]) -> list[Value]:
        number = builder.cast(builder.element(part, indices[0]), kind)
        return [number, builder.place(indices, (1,), place)]

    return builder.each((part.type.size,), [("put", array)], body)[0]
