"""Arrow's file format (also Feather's), and its stream format for standard output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from .columns import Column, same
from .files import Mark, PartialFile, Sink, StandardOutput
from .tables import batch_of

_MAGIC = 8  # bytes before what a stream would have


class ArrowWriter:
    """An Arrow file; its position is a mark.

    The footer says where each batch is, and pyarrow's writer knows that of those it has written. To
    go on, it is given the finished ones once more, as views of the file, and their bytes are passed
    over instead of written.
    """

    def __init__(self, path: str, resume_at: Sequence[int] | None) -> None:
        self._file = PartialFile(path, resume_at)
        self._writer: Any = None
        self._schema: Any = None
        if resume_at and resume_at[0]:
            with pa.memory_map(path) as file:
                finished = ipc.open_stream(file.read_buffer(resume_at[0]).slice(_MAGIC))
                writer = self._open(finished.schema, resume_at[0])
                for batch in finished:
                    writer.write_batch(batch)

    def append(self, columns: Sequence[Column]) -> Mark:
        batch = batch_of(columns)
        if self._writer is None:
            self._open(batch.schema, 0)
        _fits(self._schema, batch.schema)
        self._writer.write_batch(batch)
        return self._file.mark

    def finish(self) -> None:
        self._writer.close()
        self._file.finish()

    def close(self) -> None:
        self._file.close()

    def _open(self, schema: Any, skip: int) -> Any:
        self._schema = schema
        self._writer = ipc.new_file(Sink(self._file, skip), schema)
        return self._writer


class ArrowStream:
    """Arrow's stream format on standard output."""

    def __init__(self) -> None:
        self._output = StandardOutput()
        self._writer: Any = None
        self._schema: Any = None

    def append(self, columns: Sequence[Column]) -> Mark:
        batch = batch_of(columns)
        if self._writer is None:
            self._schema = batch.schema
            self._writer = ipc.new_stream(Sink(self._output), batch.schema)
        _fits(self._schema, batch.schema)
        self._writer.write_batch(batch)
        return self._output.mark

    def finish(self) -> None:
        self._writer.close()

    def close(self) -> None:
        """The stream stays without its end, as the reader will say."""


def _fits(first: Any, now: Any) -> None:
    if first != now:
        same(
            "Arrow", *({field.name: str(field.type) for field in schema} for schema in (first, now))
        )
