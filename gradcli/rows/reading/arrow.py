"""Arrow: the file format, whose batches can be read in any order, and the stream format, which is
read as it comes."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from ..blocks import Block, PartError, Range, unreadable, verify_distinct
from ..formats import STDIN
from .streams import opened, rejoined, said
from .tables import block_of, kinds

_MAGIC = b"ARROW1\0\0"
_TAIL = 10  # bytes: the length of the footer, and the magic once more
# bytes of a flatbuffers table's own table before the place that says where its fourth field is
_BATCHES_AT = 10


@dataclass(frozen=True, slots=True)
class ArrowRange:
    """Rows of an Arrow file: `size` of them, from row `offset` of one batch on."""

    start: int
    size: int
    path: str
    length: int
    batch: int
    offset: int

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        try:
            with pa.memory_map(
                self.path
            ) as file:  # the block's arrays may be views of it, and keep it mapped
                if file.size() != self.length:
                    raise PartError("it has changed while it was read")
                return block_of(self.start, self._table(ipc.open_file(file)), numeric, keep)
        except (OSError, PartError, pa.ArrowException) as error:
            return unreadable(self.start, self.size, numeric, keep, error)

    def _table(self, reader: Any) -> Any:
        batches = []
        number, offset, left = self.batch, self.offset, self.size
        while left:
            piece = reader.get_batch(number).slice(offset, left)
            batches.append(piece)
            number, offset, left = number + 1, 0, left - piece.num_rows
        return pa.Table.from_batches(batches)


@dataclass(frozen=True, slots=True)
class BatchRange:
    """Rows that have come from a stream; they travel where the range goes."""

    start: int
    size: int
    table: Any

    def divided(self, rows: int) -> Iterator[Range]:
        for offset in range(0, self.size, rows):
            piece = self.table.slice(offset, rows)
            yield BatchRange(self.start + offset, piece.num_rows, piece)

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        try:
            return block_of(self.start, self.table, numeric, keep)
        except pa.ArrowException as error:
            return unreadable(self.start, self.size, numeric, keep, error)

    def __reduce__(self) -> tuple[Any, ...]:
        sink = (
            pa.BufferOutputStream()
        )  # not pyarrow's own pickle, which would take along the whole of what this is a slice of
        with ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return _unpacked, (self.start, self.size, sink.getvalue().to_pybytes())


def _unpacked(start: int, size: int, data: bytes) -> BatchRange:
    return BatchRange(start, size, ipc.open_stream(data).read_all())


class ArrowPart:
    """One Arrow file of either format, or a stream from standard input."""

    fixed = True

    def __init__(self, path: str) -> None:
        self._path = path
        self.rows: int | None = None
        with _damaged():
            self._stream = self._opened()
            if self._stream is None:
                with pa.memory_map(path) as file:
                    schema, self._length = ipc.open_file(file).schema, file.size()
                    self._sizes = _sizes(file.read_buffer())
                    self.rows = sum(self._sizes)
            else:
                schema = self._stream.schema
            self.columns: tuple[str, ...] = tuple(schema.names)
        verify_distinct(self.columns)
        self.kinds = kinds(schema)

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        stream, self._stream = self._stream, None
        with _damaged():
            if stream is None:
                stream = self._opened()
            yield from (
                self._places(rows, start) if stream is None else _arriving(stream, rows, start)
            )

    def _opened(self) -> Any:
        """A reader of the stream that this is; None for a file in the file format, which is a
        stream between magic words."""
        raw, _ = opened(self._path)
        head = raw.read(len(_MAGIC))
        if self._path == STDIN:
            return ipc.open_stream(raw if head == _MAGIC else rejoined(head, raw))
        raw.close()
        return None if head == _MAGIC else ipc.open_stream(pa.OSFile(self._path))

    def _places(self, rows: int, start: int) -> Iterator[Range]:
        begin, held = (
            (0, 0),
            0,
        )  # the batch, and the row within it, from which on `held` rows go into the next range
        for number, size in enumerate(self._sizes):
            used = 0
            while held + size - used >= rows:
                used += rows - held
                yield ArrowRange(start, rows, self._path, self._length, *begin)
                start, begin, held = start + rows, (number, used), 0
            held += size - used
        if held:
            yield ArrowRange(start, held, self._path, self._length, *begin)


def _arriving(reader: Any, rows: int, start: int) -> Iterator[Range]:
    """A stream in ranges: its batches, cut where they are large."""
    for batch in reader:
        for offset in range(0, batch.num_rows, rows):
            piece = batch.slice(offset, rows)
            yield BatchRange(start, piece.num_rows, pa.Table.from_batches([piece]))
            start += piece.num_rows


def _sizes(file: Any) -> list[int]:
    """How many rows each batch of a file has, from their headers: without a look at the data, which
    may be compressed.

    Only the footer says where they are, and it was verified when the file was opened; pyarrow
    doesn't tell. It is a table of flatbuffers, whose fourth field is a vector of structs.
    """
    data = memoryview(file)
    (length,) = struct.unpack_from("<i", data, len(data) - _TAIL)
    footer = data[len(data) - _TAIL - length :]
    (table,) = struct.unpack_from("<I", footer)
    (back,) = struct.unpack_from("<i", footer, table)
    width, _, *fields = struct.unpack_from("<6H", footer, table - back)
    if width <= _BATCHES_AT or not fields[3]:
        return []
    vector = table + fields[3]
    vector += struct.unpack_from("<I", footer, vector)[0]
    (count,) = struct.unpack_from("<I", footer, vector)
    nothing = pa.schema([])
    sizes = []
    for offset, header, body in struct.iter_unpack(
        "<qi4xq", footer[vector + 4 : vector + 4 + 24 * count]
    ):
        if offset < 0 or header < 0 or body < 0 or offset + header + body > len(data):
            raise PartError("it is damaged: its footer says that there are batches outside of it")
        message = ipc.read_message(file.slice(offset, header + body))
        sizes.append(ipc.read_record_batch(message, nothing).num_rows)
    return sizes


@contextmanager
def _damaged() -> Iterator[None]:
    """Turns what pyarrow says of what is no Arrow file into a PartError."""
    try:
        with said():
            yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise PartError(f"it is not an Arrow file, or damaged: {error}") from None
