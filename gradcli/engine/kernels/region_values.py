"""Values of the language as parameters of a region, and its results as values of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from ..backends.backend import CPU, shape_of
from ..ir.types import BOOL, F32, OF_DTYPE, OF_PYTHON, ArrayType, Scalar, dtype_of
from ..lowering.held.columns import LARGEST
from ..lowering.held.kinds import (
    FEW,
    Kind,
    Known,
    ListOrArray,
    Maybe,
    Mixed,
    Partly,
    Record,
    Stored,
    Table,
    Word,
    flat,
    items_in,
)
from ..lowering.values.arrays import MAX_ELEMENTS
from ..values.boxes import Dual, primal
from ..values.kinds import List
from .traced_lists import TracedList, list_of, of_numbers

MISSING = object()
ANY = 2**62  # traced numbers, at most


def list_type(value: List, most_traced: int = 0) -> ArrayType | None:
    """The type of a list of numbers, or of lists of numbers of one length. None unless all numbers
    are floats, or all are ints. Floats may be traced, or have tangents, in a list of no more than
    `most_traced` numbers."""
    items, shape = value.items, [len(value)]
    while (types := set(map(type, items))) == {List}:
        items = [item.items for item in items]
        lengths = set(map(len, items))
        if len(lengths) > 1:
            return None
        shape += lengths
        items = list(chain.from_iterable(items))
    if not types.isdisjoint((tuple, Dual)):
        if len(items) > most_traced:
            return None
        types = {type(primal(item)) for item in items}
    kind = scalar_type(types.pop()) if len(types) == 1 else None
    return None if kind is None or kind == BOOL else ArrayType(kind, tuple(shape), listed=True)


def is_long(kind: ArrayType) -> bool:
    """Whether a list of this type is one parameter of a region, which only reads it: it has many
    items, and many numbers in them."""
    return kind.shape[0] > FEW and kind.size > MAX_ELEMENTS


def scalar_type(kind: type) -> Scalar | None:
    """The type of numbers of a class: Python's, and NumPy's float32, which doesn't exist before
    NumPy is loaded."""
    found = OF_PYTHON.get(kind)
    if found is None and CPU.ndarray is not None and kind is CPU.xp.float32:
        return F32
    return found


def as_parameter(value: Any) -> Any:
    """A number, an array, or a list of many numbers, as a region takes it."""
    kind = list_type(value, ANY) if type(value) is List else None
    return (
        value if kind is None else of_numbers(flat_items(value), dtype_of(kind.element), kind.shape)
    )


def flat_items(value: List) -> list[Any]:
    """The numbers of a list, and of lists in it, in order."""
    items = value.items
    while items and type(items[0]) is List:
        items = list(chain.from_iterable([row.items for row in items]))
    return items


def held_of(kind: Kind, numbers: Iterator[Any]) -> Any:
    """Something of a kind, made of the next numbers and arrays. MISSING for a value that isn't
    there."""
    if isinstance(kind, tuple):
        return List([held_of(item, numbers) for item in kind])
    if isinstance(kind, Record):
        items = [held_of(item, numbers) for item in kind.items]
        return dict(zip(kind.keys, items, strict=True))
    if isinstance(kind, Stored) and kind.listed:
        return list_of(next(numbers))
    if isinstance(kind, ListOrArray):
        is_list, array = next(numbers), held_of(kind.array, numbers)
        return list_of(array) if is_list else array
    if isinstance(kind, Table):
        arrays = [next(numbers) for _ in flat(kind.columns)]
        return List(_items(kind.columns, iter(arrays), next(numbers)))
    if isinstance(kind, Partly):
        is_there, held = next(numbers), held_of(kind.held, numbers)
        missing = MISSING if isinstance(kind, Maybe) else None
        return held if is_there else missing
    if isinstance(kind, Known):
        return kind.thing
    if isinstance(kind, Word):
        return kind.among[next(numbers)]
    if isinstance(kind, Mixed):
        is_int, whole, real = islice(numbers, 3)
        return whole if is_int else real
    return next(numbers)


def counts_in(kinds: Iterable[Kind], at: int) -> dict[int, int]:
    """For results of kinds, from a position on: by the positions of columns of tables, those of the
    numbers of their items."""
    counts: dict[int, int] = {}
    for kind in kinds:
        size = len(list(flat(kind)))
        if isinstance(kind, Table):
            counts |= dict.fromkeys(range(at, at + size - 1), at + size - 1)
        elif isinstance(kind, tuple | Record):
            counts |= counts_in(items_in(kind), at)
        elif isinstance(kind, Partly):
            counts |= counts_in([kind.held], at + 1)
        at += size
    return counts


def _items(columns: Kind, arrays: Iterator[Any], size: int) -> list[Any]:
    """The first items of a table with columns of this kind, made of the next arrays."""
    if isinstance(columns, Stored):
        array = next(arrays)[:size]
        return list_of(array).items if columns.listed else [row.copy() for row in array]
    if isinstance(columns, ListOrArray):
        found = zip(next(arrays)[:size], next(arrays), strict=False)
        return [list_of(row) if is_list else row.copy() for is_list, row in found]
    assert isinstance(columns, tuple | Record)
    parts = items_in(columns)
    rows = zip(*[_items(each, arrays, size) for each in parts], strict=True)
    if isinstance(columns, Record):
        return [dict(zip(columns.keys, row, strict=True)) for row in rows]
    return [List(list(row)) for row in rows]


def may_be(a: Any, b: Any) -> bool:
    """Whether two numbers are equal, or both nan. An array is no number."""
    a, b = primal(a), primal(b)
    return not shape_of(b) and bool(a == b or (a != a and b != b))


def columns_with_room(
    value: List, room: int, most_traced: int = 0
) -> tuple[Kind, list[Any]] | None:
    """The columns of a list with room for so many items: their kind, and the arrays that a region
    takes for them. None if the items aren't numbers, or arrays, of one form. Floats may be traced,
    or have tangents, where a column has no more than `most_traced`."""
    rows, first = value.items, value.items[0]
    kinds, keys = set(map(type, rows)), None
    kind = list_type(value, most_traced)
    if kind is not None and room * kind.size <= LARGEST * len(rows):
        numbers = of_numbers(flat_items(value), dtype_of(kind.element), kind.shape)
        return _column(_with_room(numbers, room), listed=True)
    if kinds == {bool}:
        return _column(_array(rows, bool, (len(rows),), room), listed=True)
    if kinds == {CPU.ndarray} and len({(row.shape, row.dtype) for row in rows}) == 1:
        if first.dtype.name not in OF_DTYPE or not 0 < room * first.size <= LARGEST:
            return None
        return _column(_array(rows, first.dtype, (len(rows), *first.shape), room), listed=False)
    if kinds == {List} and first.items and set(map(len, rows)) == {len(first)}:
        parts = zip(*[row.items for row in rows], strict=True)
    elif kinds == {dict} and first and set(map(tuple, rows)) == {keys := tuple(first)}:
        parts = zip(*[row.values() for row in rows], strict=True)
    else:
        return None
    columns = [columns_with_room(List(list(part)), room, most_traced) for part in parts]
    found = [each for each in columns if each is not None]
    if len(found) < len(columns):
        return None
    items, arrays = tuple([own for own, _ in found]), [array for _, own in found for array in own]
    return (items if keys is None else Record(keys, items)), arrays


def _column(array: Any, listed: bool) -> tuple[Kind, list[Any]]:
    return Stored(ArrayType(OF_DTYPE[array.dtype.name], array.shape, listed)), [array]


def _array(items: Any, dtype: Any, shape: tuple[int, ...], room: int) -> Any:
    found = CPU.xp.zeros((room, *shape[1:]), dtype)
    found[: shape[0]] = items
    return found


def _with_room(numbers: Any, room: int) -> Any:
    """A list of numbers with room for more."""
    if type(numbers) is TracedList:
        return TracedList(_with_room(numbers.array, room), numbers.boxes)
    return _array(numbers, numbers.dtype, numbers.shape, room)
