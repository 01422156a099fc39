"""Values of the language as parameters of a region, and its results as values of the language."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from ..backends.backend import CPU, shape_of
from ..ir.types import BOOL, F32, OF_PYTHON, ArrayType, Scalar
from ..lowering.held.kinds import (
    FEW,
    Kind,
    Known,
    ListOf,
    ListOrArrayOf,
    MaybeOf,
    MixedOf,
    OrNoneOf,
    RecordOf,
    StoredOf,
    TableOf,
    WordOf,
    types_of,
)
from ..lowering.values.arrays import MAX_ELEMENTS
from ..values.boxes import primal
from ..values.kinds import List

MISSING = object()


def list_type(value: List) -> ArrayType | None:
    """The type of a list of numbers, or of lists of numbers of one length, as an array. None unless
    all numbers are plain floats, or all are ints."""
    items, shape = value.items, [len(value)]
    while (types := set(map(type, items))) == {List}:
        items = [item.items for item in items]
        lengths = set(map(len, items))
        if len(lengths) > 1:
            return None
        shape += lengths
        items = list(chain.from_iterable(items))
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
    return CPU.xp.array(plain_items(value)) if type(value) is List else value


def plain_items(value: Any) -> Any:
    """A list, and lists in it, as Python's."""
    return list(map(plain_items, value.items)) if type(value) is List else value


def held_of(kind: Kind, numbers: Iterator[Any]) -> Any:
    """Something of a kind, made of the next numbers and arrays. MISSING for a value that isn't
    there."""
    if isinstance(kind, ListOf):
        return List([held_of(item, numbers) for item in kind.items])
    if isinstance(kind, RecordOf):
        items = [held_of(item, numbers) for item in kind.items]
        return dict(zip(kind.keys, items, strict=True))
    if isinstance(kind, StoredOf) and kind.listed:
        return list_of(next(numbers))
    if isinstance(kind, ListOrArrayOf):
        is_list, array = next(numbers), held_of(kind.array, numbers)
        return list_of(array) if is_list else array
    if isinstance(kind, TableOf):
        arrays = [next(numbers) for _ in types_of(kind.columns)]
        return List(_items(kind.columns, iter(arrays), next(numbers)))
    if isinstance(kind, MaybeOf | OrNoneOf):
        is_there, held = next(numbers), held_of(kind.kind, numbers)
        missing = MISSING if isinstance(kind, MaybeOf) else None
        return held if is_there else missing
    if isinstance(kind, Known):
        return kind.thing
    if isinstance(kind, WordOf):
        return kind.words[next(numbers)]
    if isinstance(kind, MixedOf):
        is_int, whole, real = islice(numbers, 3)
        return whole if is_int else real
    return next(numbers)


def _items(columns: Kind, arrays: Iterator[Any], size: int) -> list[Any]:
    """The first items of a table with columns of this kind, made of the next arrays."""
    if isinstance(columns, StoredOf):
        array = next(arrays)[:size]
        return list_of(array).items if columns.listed else [row.copy() for row in array]
    assert isinstance(columns, ListOf | RecordOf)
    rows = zip(*[_items(each, arrays, size) for each in columns.items], strict=True)
    if isinstance(columns, RecordOf):
        return [dict(zip(columns.keys, row, strict=True)) for row in rows]
    return [List(list(row)) for row in rows]


def list_of(array: Any) -> List:
    """The numbers of an array in lists."""
    return _in_lists(array if array.dtype.char == "f" else array.tolist(), array.ndim)


def _in_lists(items: Any, depth: int) -> List:
    return List(list(items) if depth == 1 else [_in_lists(item, depth - 1) for item in items])


def may_be(a: Any, b: Any) -> bool:
    """Whether two numbers are equal, or both nan. An array is no number."""
    a, b = primal(a), primal(b)
    return not shape_of(b) and bool(a == b or (a != a and b != b))
