"""Lists of items of one form, as columns that a region takes: for each number of an item an array
of those of all items, maybe with room for more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..backends.backend import CPU
from ..ir.types import OF_DTYPE, ArrayType, dtype_of
from ..lowering.held.columns import LARGEST
from ..lowering.held.kinds import Kind, Record, Stored
from ..values.kinds import List
from .region_values import flat_items, list_type
from .traced_lists import TracedList, of_numbers


def columns_with_room(value: List, room: int, most_traced: int = 0) -> Any:
    """The columns of a list, in the form of an item: pairs of an array and whether it stands for a
    list of numbers. None if the items aren't numbers, or arrays, of one form. Floats may
    be traced, or have tangents, where a column has no more than `most_traced`."""
    rows, first = value.items, value.items[0]
    kinds = set(map(type, rows))
    kind = list_type(value, most_traced)
    if kind is not None and room * kind.size <= LARGEST * len(rows):
        numbers = of_numbers(flat_items(value), dtype_of(kind.element), kind.shape)
        return _with_room(numbers, room), True
    if kinds == {bool}:
        return _array(rows, bool, (len(rows),), room), True
    if kinds == {CPU.ndarray} and len({(row.shape, row.dtype) for row in rows}) == 1:
        fits = first.dtype.name in OF_DTYPE and 0 < room * first.size <= LARGEST
        return (_array(rows, first.dtype, (len(rows), *first.shape), room), False) if fits else None
    if kinds == {List} and first.items and set(map(len, rows)) == {len(first)}:
        parts = zip(*[row.items for row in rows], strict=True)
        columns = [columns_with_room(List(list(part)), room, most_traced) for part in parts]
        return None if any(column is None for column in columns) else List(columns)
    if kinds == {dict} and first and set(map(tuple, rows)) == {tuple(first)}:
        lists = {k: List([row[k] for row in rows]) for k in first}
        by_key = {k: columns_with_room(v, room, most_traced) for k, v in lists.items()}
        return None if any(column is None for column in by_key.values()) else by_key
    return None


def _array(items: Any, dtype: Any, shape: tuple[int, ...], room: int) -> Any:
    found = CPU.xp.zeros((room, *shape[1:]), dtype)
    found[: shape[0]] = items
    return found


def _with_room(numbers: Any, room: int) -> Any:
    """A list of numbers with room for more."""
    if type(numbers) is TracedList:
        return TracedList(_with_room(numbers.array, room), numbers.boxes)
    return _array(numbers, numbers.dtype, numbers.shape, room)


def kind_of(columns: Any) -> Kind:
    """The kind of columns."""
    if type(columns) is dict:
        return Record(tuple(columns), tuple(map(kind_of, columns.values())))
    if type(columns) is List:
        return tuple(map(kind_of, columns.items))
    array, listed = columns
    return Stored(ArrayType(OF_DTYPE[array.dtype.name], array.shape, listed))


def arrays_of(columns: Any) -> Iterator[Any]:
    """The arrays of columns, in the order of the parameters for their kind."""
    if type(columns) is tuple:
        yield columns[0]
    else:
        for part in columns.values() if type(columns) is dict else columns.items:
            yield from arrays_of(part)
