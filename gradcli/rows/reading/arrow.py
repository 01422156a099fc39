"""Arrow: the file format, whose batches can be read in any order, and the stream format, which is read as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from ..blocks import Block, PartError, unreadable
from .streams import STDIN, opened, said
from .tables import block_of, kinds

_MAGIC = b"ARROW1\0\0"


@dataclass(frozen=True, slots=True)
class ArrowRange:
    """Rows of an Arrow file: `size` rows from row `offset` of one batch."""

    start: int
    size: int
    path: str
    length: int
    batch: int
    offset: int

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        try:
            # Views of the file: what is mapped goes with the block.
            with pa.memory_map(self.path) as file:
                if file.size() != self.length:
                    raise PartError("it has changed while it was read")
                batch = ipc.open_file(file).get_batch(self.batch)
            return block_of(self.start, pa.Table.from_batches([batch.slice(self.offset, self.size)]), numeric, keep)
        except (OSError, PartError, pa.ArrowException) as error:
            return unreadable(self.start, self.size, numeric, keep, f"cannot read it: {error}")


@dataclass(frozen=True, slots=True)
class BatchRange:
    """Rows that have been read from a stream; a copy of them travels where the range goes."""

    start: int
    size: int
    batch: bytes | Any

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        batch = self.batch
        if isinstance(batch, bytes):
            batch = ipc.open_stream(batch).read_next_batch()
        return block_of(self.start, pa.Table.from_batches([batch]), numeric, keep)

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchRange, (self.start, self.size, self.batch if isinstance(self.batch, bytes) else _packed(self.batch))


class ArrowPart:
    """One Arrow file of either format, or a stream from standard input."""

    fixed = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._stream: Any = None
        self.rows: int | None = None
        with said(), damaged():
            raw, _ = opened(path)
            head = raw.read(len(_MAGIC))
            self._random = head == _MAGIC and path != STDIN
            if self._random:
                raw.close()
                with pa.memory_map(path) as file:
                    reader = ipc.open_file(file)
                    schema = reader.schema
                    self._batches, self._length = reader.num_record_batches, file.size()
                    self.rows = reader.count_rows() if hasattr(reader, "count_rows") else None
            else:
                self._stream = ipc.open_stream(raw if head == _MAGIC else _Again(head, raw))
                schema = self._stream.schema
        self.columns: tuple[str, ...] = tuple(schema.names)
        self.kinds = kinds(schema)
