"""Column chunks of Parquet: numbers as they lie in memory, without a copy; of other types, what pyarrow makes of them.

A chunk of numbers is pages in the PLAIN encoding, uncompressed: a header, a bit for each row that says whether there is a
value, and the values. Floating-point outputs compress badly, and this takes no time beside the writing itself.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..blocks import Array, Mask
from .columns import Flat
from .files import Output
from .thrift import BINARY, I32, I64, LIST, STRUCT, Struct, packed, put_varint, read_struct

MAGIC = b"PAR1"
TAIL = 8  # the length of a footer, and the magic
PLAIN = {"b": (0, pa.bool_()), "i8": (2, pa.int64()), "f4": (4, pa.float32()), "f8": (5, pa.float64())}  # Parquet's types
_PAGE = 1 << 16  # rows
_RLE = 3
# Fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
GROUPS = 4
CHUNKS = 1
METADATA = 3
_PATH = 3
_SIZE, _BEGINS = 7, (9, 10, 11)  # where data, index and dictionary pages begin


def kind_of(flat: Flat) -> Any:
    """The Arrow type of a column of numbers that is written as it lies; None for all else."""
    if not isinstance(flat.values, np.ndarray):
        return None
    return PLAIN.get(_code(flat.values.dtype), (0, None))[1]


def _code(dtype: np.dtype[Any]) -> str:
    return "b" if dtype.kind == "b" else dtype.str[1:] if dtype.isnative else ""


def footer_of(schema: Any) -> Struct:
    """The footer that pyarrow writes for no rows: what one says besides its row groups."""
    file = io.BytesIO()
    with pq.ParquetWriter(file, schema):
        pass
    footer, _ = split(file.getvalue())
    for field, (kind, value) in footer.items():
        if kind == LIST:  # of structs: what is the same in each block is put into bytes only once
            footer[field] = (LIST, (STRUCT, [packed(item) for item in value[1]]))
    return footer


def split(file: bytes) -> tuple[Struct, memoryview]:
    """The footer of a Parquet file, and what stands before it without the magic."""
    (length,) = struct.unpack("<I", file[-TAIL:-4])
    begin = len(file) - TAIL - length
    return read_struct(file, begin)[0], memoryview(file)[len(MAGIC) : begin]


def write_others(names: Sequence[str], arrays: Sequence[Any], to: Output) -> dict[str, list[Struct]]:
    """Writes columns that are no plain numbers. Returns their chunks: several, where a column is one of structs."""
    file = io.BytesIO()
    table = pa.table(list(arrays), names=list(names))
    with pq.ParquetWriter(file, table.schema, compression="snappy") as writer:
        writer.write_table(table, row_group_size=table.num_rows)
    footer, data = split(file.getvalue())
    by = to.position - len(MAGIC)
    to.write(data)
    chunks: dict[str, list[Struct]] = {}
    for chunk in footer[GROUPS][1][1][0][CHUNKS][1][1]:
        metadata = chunk[METADATA][1]
        chunks.setdefault(metadata[_PATH][1][1][0].decode(), []).append(chunk)
        for field in _BEGINS:
            if field in metadata:
                metadata[field] = (I64, metadata[field][1] + by)
    return chunks


def write_plain(name: str, values: Array, mask: Mask | None, to: Output) -> Struct:
    """Writes a column of numbers. Returns its chunk."""
    begin = to.position
    for start in range(0, len(values), _PAGE):
        _write_page(values[start : start + _PAGE], None if mask is None else mask[start : start + _PAGE], to)
    size = to.position - begin
    metadata: Struct = {
        1: (I32, PLAIN[_code(values.dtype)][0]),
        2: (LIST, (I32, [0, _RLE])),
        _PATH: (LIST, (BINARY, [name.encode()])),
        4: (I32, 0),  # uncompressed
        5: (I64, len(values)),
        6: (I64, size),
        _SIZE: (I64, size),
        _BEGINS[0]: (I64, begin),
    }
    return {2: (I64, 0), METADATA: (STRUCT, metadata)}


def _write_page(values: Array, mask: Mask | None, to: Output) -> None:
    rows = len(values)
    levels = bytearray()  # of definition: 1 where there is a value
    if mask is not None and mask.any():
        put_varint((rows + 7) // 8 << 1 | 1, levels)
        levels += np.packbits(~mask, bitorder="little").tobytes()
        values = values[~mask]
    else:
        put_varint(rows << 1, levels)
        levels.append(1)
    if values.dtype.kind == "b":
        values = np.packbits(values, bitorder="little")
    values = np.ascontiguousarray(values)
    size = 4 + len(levels) + values.nbytes
    page: Struct = {1: (I32, rows), 2: (I32, 0), 3: (I32, _RLE), 4: (I32, _RLE)}
    head = packed({1: (I32, 0), 2: (I32, size), 3: (I32, size), 5: (STRUCT, page)})
    to.write(head + struct.pack("<I", len(levels)) + levels)
    if len(values):
        to.write(values.data.cast("B"))
