"""Parquet that can be gone on with: each block ends with a footer of its own, and one at the end knows them all.

A footer says where each column chunk begins, and nothing forbids gaps between these. So a block is its column chunks and
then a footer that knows this block only, by which a writer that goes on finds what is there. `finish` writes what all of
them say as one. Nothing is encoded twice.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from .columns import Column, Flat, flattened, same
from .files import PartialFile
from .pages import CHUNKS, GROUPS, MAGIC, TAIL, footer_of, kind_of, write_others, write_plain
from .tables import array_of
from .thrift import I64, LIST, STRUCT, Struct, packed, read_struct

_ROWS = 3  # of FileMetaData and of RowGroup
_BYTES, _COMPRESSED = 2, 6  # of RowGroup


class ParquetWriter:
    """A Parquet file; its position is a number of bytes."""

    def __init__(self, path: str, resume_at: int | None = None) -> None:
        self._file = PartialFile(path, resume_at)
        self._schema: Any = None
        self._footer: Struct = {}  # without row groups
        self._resumed_at = resume_at or 0
        self._groups: list[bytes] = []  # written since then
        self._rows = 0

    def append(self, columns: Sequence[Column]) -> int:
        flats = flattened(columns)
        others = {flat.name: array_of(flat.values, flat.mask) for flat in flats if kind_of(flat) is None}
        self._fit(pa.schema([(flat.name, others[flat.name].type if flat.name in others else kind_of(flat)) for flat in flats]))
        rows = len(flats[0].values) if flats else 0
        if not self._file.position:
            self._file.write(MAGIC)
        groups = [packed(self._group(flats, others, rows))] if rows else []
        self._write_footer({**self._footer, **_with(groups, rows)})
        self._groups += groups
        self._rows += rows
        return self._file.position

    def finish(self) -> None:
        with open(self._file.path, "rb") as file:
            footer, groups, rows = _footers(file, self._resumed_at)
        self._write_footer({**(self._footer or footer), **_with(groups + self._groups, rows + self._rows)})
        self._file.finish()

    def close(self) -> None:
        self._file.close()

    def _fit(self, schema: Any) -> None:
        """Takes the columns of the first block, and holds the others to them."""
        if self._schema is None:
            self._schema, self._footer = schema, footer_of(schema)
        elif self._schema != schema:
            same("Parquet", *({field.name: str(field.type) for field in each} for each in (self._schema, schema)))

    def _group(self, flats: Sequence[Flat], others: dict[str, Any], rows: int) -> Struct:
        """Writes the columns of a block. Returns the row group that they are."""
        begin = self._file.position
        chunks = write_others(list(others), list(others.values()), self._file) if others else {}
        for flat in flats:
            if flat.name not in others:
                chunks[flat.name] = [write_plain(flat.name, flat.values, flat.mask, self._file)]
        size = self._file.position - begin
        return {
            CHUNKS: (LIST, (STRUCT, [chunk for flat in flats for chunk in chunks[flat.name]])),
            _BYTES: (I64, size),
            _ROWS: (I64, rows),
            _COMPRESSED: (I64, size),
        }

    def _write_footer(self, footer: Struct) -> None:
        out = packed(footer)
        self._file.write(out + struct.pack("<I", len(out)) + MAGIC)


def _with(groups: list[bytes], rows: int) -> Struct:
    """The fields of a footer that say what row groups there are."""
    return {_ROWS: (I64, rows), GROUPS: (LIST, (STRUCT, groups))}


def _footers(file: BinaryIO, end: int) -> tuple[Struct, list[bytes], int]:
    """What the footers say of the blocks up to `end`: the last of them, all row groups, and the number of rows."""
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
