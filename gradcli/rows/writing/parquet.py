"""Parquet that can be gone on with: each block is one row group and a footer that knows it; one at
the end knows them all.

A footer says where each column chunk begins, and nothing forbids gaps between these. So a block is
the file that pyarrow makes of it, without the magic at its beginning, and its footer says where
things are in the whole file: a writer that goes on finds by it what is there. `finish` writes what
all of the footers say as one. Nothing is encoded twice.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ...safe_files import plain_file
from ..thrift import I64, LIST, STRUCT, Struct, packed, read_struct
from .columns import Column, same
from .files import Mark, PartialFile
from .tables import batch_of

MAGIC = b"PAR1"
TAIL = 8  # the length of a footer, and the magic
# Fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
GROUPS = 4
CHUNKS, _COMPRESSED, _ORDINAL = 1, 6, 7
METADATA = 3
_ROWS = 3  # of FileMetaData and of RowGroup
_BEGIN, _BEGINS = {5}, {9, 10, 11}  # of a row group; of a chunk's data, index and dictionary pages
# of a dictionary at most: an eighth of what 64-bit numbers take; where more differ, it would only
# cost
_BYTES_A_ROW = 1
_SEEN = 2**10  # values that tell whether a column repeats


class ParquetWriter:
    """A Parquet file; its position is a mark."""

    def __init__(
        self, path: str, resume_at: Sequence[int] | None = None, compression: str = "zstd"
    ) -> None:
        self._file = PartialFile(path, resume_at)
        self._compression = compression
        self._schema: Any = None
        self._footer: Struct = {}  # without row groups
        self._resumed_at = resume_at[0] if resume_at else 0
        self._groups: list[bytes] = []  # written since then
        self._rows = 0

    def append(self, columns: Sequence[Column]) -> Mark:
        batch = batch_of(columns)
        self._fit(batch.schema)
        self._footer, data = split(_encoded(batch, self._compression))
        groups = [
            packed(_moved(group, self._file.position)) for group in self._footer[GROUPS][1][1]
        ]
        self._file.write(data if self._file.position else MAGIC + data)
        self._write_footer({**self._footer, **_with(groups, batch.num_rows)})
        self._groups += groups
        self._rows += batch.num_rows
        return self._file.mark

    def finish(self) -> None:
        with open(self._file.path, "rb", opener=plain_file) as file:
            footer, groups, rows = _footers(file, self._resumed_at)
        self._write_footer(
            {**(self._footer or footer), **_with(groups + self._groups, rows + self._rows)}
        )
        self._file.finish()

    def close(self) -> None:
        self._file.close()

    def _fit(self, schema: Any) -> None:
        """Takes the columns of the first block, and holds the others to them."""
        if self._schema is None:
            self._schema = schema
        elif self._schema != schema:
            same(
                "Parquet",
                *(
                    {field.name: str(field.type) for field in each}
                    for each in (self._schema, schema)
                ),
            )

    def _write_footer(self, footer: Struct) -> None:
        out = packed(footer)
        self._file.write(out + struct.pack("<I", len(out)) + MAGIC)


def split(file: bytes | memoryview) -> tuple[Struct, memoryview]:
    """The footer of a Parquet file, and what stands before it without the magic."""
    (length,) = struct.unpack("<I", file[-TAIL:-4])
    begin = len(file) - TAIL - length
    return read_struct(bytes(file[begin:]))[0], memoryview(file)[len(MAGIC) : begin]


def _encoded(batch: Any, compression: str) -> memoryview:
    """A block as a Parquet file of one row group; of none where there are no rows."""
    file = pa.BufferOutputStream()  # Arrow's own: one of Python's is copied as it grows
    limit = max(batch.num_rows * _BYTES_A_ROW, 1)
    chosen = {
        "compression": compression,
        "write_page_checksum": True,
        "use_dictionary": [name for name in batch.schema.names if _repeats(batch.column(name))],
        "dictionary_pagesize_limit": limit,
    }
    with pq.ParquetWriter(file, batch.schema, **chosen) as writer:
        if batch.num_rows:
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=batch.num_rows)
    return memoryview(file.getvalue())


def _repeats(column: Any) -> bool:
    """Whether values of a column repeat, as its first ones tell. To try a dictionary where they
    don't takes as long as all else. Of nested columns this isn't known."""
    if pa.types.is_nested(column.type):
        return False
    some = column.slice(0, _SEEN).to_pylist()
    return 2 * len(set(some)) <= len(some)


def _moved(group: Struct, position: int) -> Struct:
    """The row group of a file of its own, as one whose data begins at `position`."""
    by = (position or len(MAGIC)) - len(MAGIC)
    group.pop(_ORDINAL, None)  # it has one among all groups, which needn't be said
    chunks = [chunk[METADATA][1] for chunk in group[CHUNKS][1][1]]
    for fields, begins in [(group, _BEGIN), *((chunk, _BEGINS) for chunk in chunks)]:
        for field in fields.keys() & begins:
            fields[field] = (I64, fields[field][1] + by)
    return group


def _with(groups: list[bytes], rows: int) -> Struct:
    """The fields of a footer that say what row groups there are."""
    return {_ROWS: (I64, rows), GROUPS: (LIST, (STRUCT, groups))}


def _footers(file: BinaryIO, end: int) -> tuple[Struct, list[bytes], int]:
    """What the footers say of the blocks up to `end`: the last of them, all row groups, and the
    number of rows."""
    footer: Struct = {}
    groups: list[bytes] = []
    rows = 0
    while end > len(MAGIC):
        file.seek(end - TAIL)
        length, magic = struct.unpack("<I4s", file.read(TAIL))
        if magic != MAGIC:
            raise ValueError(f"no block of Parquet ends at {end}")
        file.seek(end - TAIL - length)
        footer, _ = read_struct(file.read(length))
        rows += footer[_ROWS][1]
        end -= TAIL + length
        for group in footer[GROUPS][1][1]:
            groups.append(packed(group))
            end -= group[_COMPRESSED][1]
    return footer, groups[::-1], rows
