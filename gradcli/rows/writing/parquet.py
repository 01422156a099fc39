"""Parquet that can be gone on with: each block is a little Parquet file in the file, and one footer at the end knows them all.

A Parquet footer says where each column chunk begins, and nothing forbids gaps between these. So a block is what pyarrow
writes for a file of its own, without the magic bytes that begin one: its column chunks and its footer. `finish` reads the
footers back, moves what they say to where the blocks are, and writes them as one. What lies before a block is never needed
to write it, and nothing is encoded twice.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

import pyarrow.parquet as pq
import pyarrow.types as types

from .columns import Column, same
from .files import PartialFile, Sink
from .tables import batch_of
from .thrift import Struct, read_struct, write_struct

_MAGIC = b"PAR1"
_TAIL = 8  # the length of a footer, and the magic
# Fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
_ROWS, _GROUPS = 3, 4
_CHUNKS, _GROUP_BEGINS, _GROUP_BYTES, _ORDINAL = 1, 5, 6, 7
_METADATA = 3
_PAGES = (9, 10, 11)  # where data, index and dictionary pages begin
_STRUCT = 12  # in Thrift


class ParquetWriter:
    """A Parquet file; its position is a number of bytes."""

    def __init__(self, path: str, resume_at: int | None = None) -> None:
        self._file = PartialFile(path, resume_at)
        self._schema: Any = None

    def append(self, columns: Sequence[Column]) -> int:
        batch = batch_of(columns)
        schema = batch.schema
        if self._schema is not None and self._schema != schema:
            same("Parquet", *({field.name: str(field.type) for field in s} for s in (self._schema, schema)))
        self._schema = schema
        text = [field.name for field in schema if not types.is_primitive(field.type)]
        begins = self._file.position == 0
        with pq.ParquetWriter(
            Sink(self._file, 0 if begins else len(_MAGIC)),
            schema,
            use_dictionary=text,
            compression={field.name: "snappy" if field.name in text else "none" for field in schema},
            write_statistics=text,
            write_page_index=False,
        ) as writer:
            writer.write_batch(batch)
        return self._file.position

    def finish(self) -> None:
        with open(self._file.path, "rb") as file:
            footer = _merged(file, self._file.position)
        self._file.write(footer + struct.pack("<I", len(footer)) + _MAGIC)
        self._file.finish()

    def close(self) -> None:
        self._file.close()


def _merged(file: BinaryIO, end: int) -> bytes:
    """One footer for all blocks, of which the last ends at `end`."""
    first: Struct = {}
    groups: list[bytes] = []
    rows = 0
    while end > len(_MAGIC):
        first, footer = _footer(file, end)
        found = first[_GROUPS][1][1]
        end = footer - sum(group[_GROUP_BYTES][1] for group in found)
        groups += [_moved(group, end - len(_MAGIC)) for group in reversed(found)]
        rows += first[_ROWS][1]
    first[_ROWS] = (first[_ROWS][0], rows)
    first[_GROUPS] = (first[_GROUPS][0], (_STRUCT, groups[::-1]))
    out = bytearray()
    write_struct(first, out)
    return bytes(out)


def _footer(file: BinaryIO, end: int) -> tuple[Struct, int]:
    """The footer of the block that ends at `end`, and where it begins."""
    file.seek(end - _TAIL)
    length, magic = struct.unpack("<I4s", file.read(_TAIL))
    if magic != _MAGIC:
        raise ValueError(f"no block of Parquet ends at {end}")
    file.seek(end - _TAIL - length)
    return read_struct(file.read(length))[0], end - _TAIL - length


def _moved(group: Struct, by: int) -> bytes:
    """A row group that lies `by` bytes further on than it says."""
    group.pop(_ORDINAL, None)  # optional, and too small for many blocks
    _move(group, _GROUP_BEGINS, by)
    for chunk in group[_CHUNKS][1][1]:
        for field in _PAGES:
            _move(chunk[_METADATA][1], field, by)
    out = bytearray()
    write_struct(group, out)
    return bytes(out)


def _move(fields: Struct, field: int, by: int) -> None:
    if field in fields:
        kind, offset = fields[field]
        fields[field] = (kind, offset + by)
