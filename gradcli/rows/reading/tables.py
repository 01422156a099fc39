"""Columns of Arrow as the program takes them: numbers, lists of numbers, complex numbers, with
masks of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from ...diagnostics import Diagnostic, GradcliError
from .. import compute as pc
from ..arrays import filled, texts
from ..blocks import Array, Block, Mask
from ..exact import MAX_INT, no_numbers, too_large
from ..flat import Cells, Layout, fill, gather, layouts
from .texts import decoded, numbers

_FLOAT64 = pa.float64()


def block_of(start: int, table: Any, numeric: Sequence[str], keep: Sequence[str]) -> Block:
    """The block that a table is. Raises ArrowInvalid where its data is damaged."""
    block = Block(start, table.num_rows)
    where = layouts(numeric, tuple(table.column_names))
    cells = {
        name: _cells(name, _verified(whole(table[name])))
        for place in where.values()
        for name in place.columns
    }
    fill(block, where, cells)
    block.kept = {
        name: _kept(name, _verified(whole(table[name])), block)
        for name in keep
        if name in table.column_names
    }
    return block


def whole(column: Any) -> Any:
    """A chunked column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _verified(column: Any) -> Any:
    """A column that lies within its memory. Raises ArrowInvalid where it doesn't, or lists hold
    text that isn't UTF-8."""
    if types.is_string(column.type):  # whose text `decoded` looks at, row by row
        column.cast(pa.binary()).validate(full=True)
    else:
        column.validate(full=not types.is_primitive(column.type))
    return column


def kinds(schema: Any) -> dict[str, str]:
    """The types of the columns, as `_plain` gives them, in words."""
    return {field.name: str(_plain_type(field.type)) for field in schema}


def _plain_type(kind: Any) -> Any:
    """A type without the encoding that differs between blocks, and between those who have written a
    part."""
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    return pa.binary() if types.is_large_binary(kind) or types.is_binary_view(kind) else kind


def _plain(column: Any) -> Any:
    """A column as an array of the plain type."""
    if types.is_dictionary(column.type):
        # The values first: what they are may be of a type that pyarrow can't decode.
        return pa.DictionaryArray.from_arrays(
            column.indices, _plain(column.dictionary)
        ).dictionary_decode()
    if types.is_run_end_encoded(column.type):
        return _plain(pc.run_end_decode(column))
    if isinstance(column, pa.ExtensionArray):
        return _plain(column.storage)
    return column.cast(_plain_type(column.type))


def _kept(name: str, column: Any, block: Block) -> Any:
    """A column as writers take it; a row whose text isn't UTF-8 is rejected."""
    column = _plain(column)
    if types.is_union(column.type) or types.is_interval(column.type):
        raise GradcliError(
            Diagnostic("E005", f"column `{name}` holds {column.type}, which can't be kept")
        )
    if not types.is_string(column.type):
        return column
    text, rejected = _texts(name, column)
    for row, reason in rejected.items():
        block.rejected.setdefault(row, reason)
    return text


def _texts(name: str, column: Any) -> tuple[Any, dict[int, str]]:
    """A column of text, null where it isn't UTF-8, and why these rows are rejected."""
    data = column.cast(pa.binary())
    try:
        return data.cast(pa.string()), {}
    except pa.ArrowInvalid:
        cells = [
            None if cell is None else cell.decode("utf-8", "surrogateescape")
            for cell in data.to_pylist()
        ]
        found, rejected = decoded(name, cells)
        return texts(found), rejected


def _cells(name: str, column: Any) -> Cells:
    column = _plain(column)
    kind = column.type
    if kind == _FLOAT64 and not column.null_count:
        return Cells(column.to_numpy())
    if types.is_string(kind):
        text, undecoded = _texts(name, column)
        cells = numbers(name, text.to_pylist())
        return Cells(cells.values, cells.missing, cells.rejected | undecoded)
    if types.is_decimal(kind) and kind.scale <= 0:  # integers, which must keep their digits
        return numbers(name, column.cast(pa.string()).to_pylist())
    if types.is_null(kind):
        return Cells(np.full(len(column), np.nan), np.ones(len(column), bool))
    missing = np.array(column.is_null()) if column.null_count else None
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _lists(name, column, missing)
    if types.is_struct(kind) and {field.name for field in kind} == {"re", "im"}:
        parts = {
            part: _cells(part, pc.struct_field(column, part[-2:]))
            for part in (f"{name}.re", f"{name}.im")
        }
        return gather(name, Layout(list(parts), (), True), parts)
    if types.is_uint64(kind):
        values = filled(column, 0).to_numpy(zero_copy_only=False)
        rejected = dict.fromkeys(np.flatnonzero(values > MAX_INT).tolist(), too_large(name))
        return Cells(values.astype(np.int64), missing, rejected)
    target = (
        pa.bool_()
        if types.is_boolean(kind)
        else pa.int64()
        if types.is_integer(kind)
        else pa.float64()
    )
    if not (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
    ):
        raise no_numbers(name, kind)
    if kind != target:
        column = column.cast(target)
    column = filled(column, np.nan if types.is_floating(target) else 0)
    return Cells(column.to_numpy(zero_copy_only=False), missing)


def _lists(name: str, column: Any, missing: Mask | None) -> Cells:
    """A column of lists: one array where all are of one length, else an array of arrays."""
    n = len(column)
    inner = _cells(name, column.flatten())
    lengths = np.array(
        filled(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False), dtype=np.int64
    )
    ends = np.cumsum(lengths)
    rejected = {
        int(np.searchsorted(ends, k, "right")): reason
        for k, reason in reversed(inner.rejected.items())
    }
    if inner.missing is not None:
        for k in np.flatnonzero(inner.missing).tolist():
            row = int(np.searchsorted(ends, k, "right"))
            rejected.setdefault(row, f"column `{name}`: a value within its list is missing")
    there = np.ones(n, bool) if missing is None else ~missing
    sizes = np.unique(lengths[there])
    if len(sizes) <= 1 and inner.values.dtype != object:
        k = int(sizes[0]) if len(sizes) else 0
        rows = inner.values.reshape(int(there.sum()), k, *inner.values.shape[1:])
        if missing is None:
            return Cells(rows, None, rejected)
        values: Array = np.full(
            (n, *rows.shape[1:]), np.nan if rows.dtype.kind in "fc" else 0, rows.dtype
        )
        values[there] = rows
        return Cells(values, missing, rejected)
    ragged = np.full(n, None, dtype=object)
    for row, (start, end) in enumerate(zip((ends - lengths).tolist(), ends.tolist(), strict=True)):
        if there[row]:
            ragged[row] = _stacked(inner.values[start:end])
    return Cells(ragged, missing, rejected)


def _stacked(values: Array) -> Array:
    """The elements of one row as an array: rows of a matrix that have come as arrays become one,
    where they fit."""
    if (
        values.dtype != object
        or not len(values)
        or any(v is None or v.shape != values[0].shape for v in values)
    ):
        return values
    return np.array(values.tolist())
