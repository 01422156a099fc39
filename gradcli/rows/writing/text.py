"""Columns as text: numbers with the fewest digits that tell them from all others, whole blocks at a
time by Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as types

from .. import compute as pc
from ..arrays import literal, texts
from .json_text import text_of

ROWS = 1 << 16  # rows that are text at once: bounds the memory that this takes


def plain(array: Any) -> Any:
    """Each value as text, lists and structs as JSON; null stays null."""
    if types.is_string(array.type):
        return array
    if types.is_nested(array.type):
        return texts([text_of(value) for value in listed(array)])
    if types.is_binary(array.type) or types.is_fixed_size_binary(
        array.type
    ):  # which may be anything
        return texts([None if value is None else str(value) for value in array.to_pylist()])
    return array.cast(pa.string())


def listed(array: Any) -> list[Any]:
    """Lists and structs as Python's, with times in them as text: Python has none of nanoseconds."""
    return list(array.cast(_timeless(array.type)).to_pylist())


def _timeless(kind: Any) -> Any:
    if types.is_map(kind):
        return pa.map_(_timeless(kind.key_type), _timeless(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(_timeless(field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(_timeless(kind.value_type), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_timeless(kind.value_type))
    if types.is_large_list(kind):
        return pa.large_list(_timeless(kind.value_type))
    return pa.string() if types.is_temporal(kind) and not types.is_interval(kind) else kind


def is_number(kind: Any) -> bool:
    """Whether values of the type are text without quotes."""
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind))


def joined(*parts: Any, null: str = "") -> Any:
    """The texts of several columns, with those that are the same in each row, as one column."""
    columns = [literal(part) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*columns, null_handling="replace", null_replacement=null)


def written(array: Any) -> memoryview:
    """All the text of a column, one after the other."""
    if not len(array):
        return memoryview(b"")
    if array.type != pa.string():
        array = array.cast(pa.string())
    buffers = array.buffers()
    offsets = memoryview(buffers[1]).cast("i")
    return memoryview(buffers[2])[offsets[array.offset] : offsets[array.offset + len(array)]]
