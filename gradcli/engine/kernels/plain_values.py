"""Readers, which check that values are still of the entries of a region, and read their numbers if
all are plain.

A region is entered again and again with values of one kind. To observe these anew each time
(`frame_entries.py`) would cost more than many a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from ..ir.types import ArrayType
from ..lowering.entries import (
    UNASSIGNED,
    Entry,
    FunctionEntry,
    KnownInt,
    NoEntry,
    TransformEntry,
)
from ..lowering.held.kinds import Known, Record, Stored, Table
from ..values.kinds import UNSET, Function, List, Transform, Variable
from .region_values import as_parameter, columns_with_room, list_type

# Returns whether a value has an entry; if so, its numbers are appended to the list.
Reader: TypeAlias = Callable[[Any, list[Any]], bool]


def reader_of(entry: Entry, value: Any) -> Reader:
    """The reader for an entry. `value` is a value that has it."""
    if type(value) is Variable:
        return _state(reader_of(entry, value.box))
    if isinstance(entry, tuple):
        return _list(readers_of(entry, value.items))
    if isinstance(entry, Record):
        return _dict(entry.keys, readers_of(entry.items, value.values()))
    if isinstance(entry, Stored):
        return _long_list(entry.type) if entry.listed else _array(value)
    if isinstance(entry, Table):
        return _table(entry)
    if isinstance(entry, FunctionEntry):
        held = [*[cell[0] for cell in value.cells], *value.defaults]
        return _function(value, readers_of((*(entry.captured or ()), *entry.defaults), held))
    if isinstance(entry, TransformEntry):
        return _transform(value, reader_of(entry.function, value.function))
    if isinstance(entry, NoEntry):
        return _unset if entry is UNASSIGNED else lambda value, numbers: True
    if isinstance(entry, Known):
        return lambda value, numbers: Known(value) == entry
    if isinstance(entry, KnownInt):
        return _known(entry.value)
    return _number(type(value))


def readers_of(entries: Iterable[Entry], values: Iterable[Any]) -> list[Reader]:
    """The readers for entries. `values` are values that have them."""
    return [reader_of(entry, value) for entry, value in zip(entries, values, strict=True)]


def numbers_read(readers: Sequence[Reader], values: Iterable[Any]) -> list[Any] | None:
    """The numbers of values, one reader for each value; None if one has another entry now."""
    numbers: list[Any] = []
    for reader, value in zip(readers, values, strict=True):
        if not reader(value, numbers):
            return None
    return numbers


def _unset(value: Any, numbers: list[Any]) -> bool:
    return value is UNSET


def _number(kind: type) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        numbers.append(value)
        return type(value) is kind

    return reader


def _known(number: int) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        numbers.append(number)
        return type(value) is int and value == number

    return reader


def _state(state: Reader) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        return type(value) is Variable and state(value.box, numbers)

    return reader


def _array(array: Any) -> Reader:
    kind, shape, dtype = type(array), array.shape, array.dtype

    def reader(value: Any, numbers: list[Any]) -> bool:
        if type(value) is not kind or value.shape != shape or value.dtype != dtype:
            return False
        numbers.append(value)
        return True

    return reader


def _all(readers: Sequence[Reader], values: Iterable[Any], numbers: list[Any]) -> bool:
    return all([reader(v, numbers) for reader, v in zip(readers, values, strict=True)])  # noqa: C419


def _list(items: Sequence[Reader]) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        return (
            type(value) is List and len(value) == len(items) and _all(items, value.items, numbers)
        )

    return reader


def _dict(keys: tuple[str, ...], items: Sequence[Reader]) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        return type(value) is dict and tuple(value) == keys and _all(items, value.values(), numbers)

    return reader


def _long_list(kind: ArrayType) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        if type(value) is not List or list_type(value) != kind:
            return False
        numbers.append(as_parameter(value))
        return True

    return reader


def _table(entry: Table) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        if type(value) is not List or KnownInt(len(value)) != entry.count:
            return False
        columns = columns_with_room(value, len(value))
        if columns is None or columns[0] != entry.columns:
            return False
        numbers += [*columns[1], len(value)]
        return True

    return reader


def _function(function: Function, parts: Sequence[Reader]) -> Reader:
    node, n = function.code.node, len(function.cells)

    def reader(value: Any, numbers: list[Any]) -> bool:
        if type(value) is not Function or value.code.node is not node:
            return False
        captured = [cell[0] for cell in value.cells]
        return _all(parts[:n], captured, numbers) and _all(parts[n:], value.defaults, numbers)

    return reader


def _transform(transform: Transform, function: Reader) -> Reader:
    def reader(value: Any, numbers: list[Any]) -> bool:
        if value is not transform and not (
            type(value) is Transform
            and (value.kind, value.wrt, value.mode, value.sparse)
            == (transform.kind, transform.wrt, transform.mode, transform.sparse)
        ):
            return False
        return function(value.function, numbers)

    return reader
