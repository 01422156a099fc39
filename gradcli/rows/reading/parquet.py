"""Parquet: ranges are row groups, or stretches of one; decoded by pyarrow, a column at a time, into
no more than a range.

A stretch within a large row group can only be found by decoding what comes before it. So a process
reads a row group once, in order, for all its ranges (`_Cursor`); what others will ask for next
waits for them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..blocks import Block, PartError, Range, unreadable, verify_distinct
from ..flat import layouts
from .footers import verify
from .streams import said
from .tables import block_of, kinds

_BUFFER = 1 << 20  # bytes of a column chunk that are read at once
_CURSORS = 4
_WAITING = 8  # stretches that a cursor keeps for those who come later

Key = tuple[str, int, int]  # a file as it was: path, size, time of its last change


@dataclass(frozen=True, slots=True)
class ParquetRange:
    """Rows of a Parquet file: whole row groups, or `size` rows from row `offset` of one."""

    start: int
    size: int
    key: Key
    groups: tuple[int, ...]
    offset: int | None
    step: int
    names: tuple[str, ...]

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        where = layouts(numeric, self.names)
        flat = [column for place in where.values() for column in place.columns]
        columns = tuple(dict.fromkeys([*flat, *(name for name in keep if name in self.names)]))
        if not columns:
            return Block(self.start, self.size)
        try:
            if self.offset is None:
                table = _file(self.key, 0).read_row_groups(
                    list(self.groups), list(columns), use_threads=False
                )
            else:
                table = _cursor(self.key, self.groups[0], columns, self.step).take(self.offset)
            if table.num_rows != self.size:
                raise _fewer()
            return block_of(self.start, table, numeric, keep)
        except (OSError, PartError, pa.ArrowException) as error:
            return unreadable(self.start, self.size, numeric, keep, error, self._what)

    @property
    def _what(self) -> str:
        """What of the file these rows are, in words."""
        first, last = self.groups[0], self.groups[-1]
        return f"row group {first}" if first == last else f"row groups {first} to {last}"


class ParquetPart:
    """One Parquet file."""

    fixed = True

    def __init__(self, path: str) -> None:
        with said():
            found = os.stat(path)
            self._key = (path, found.st_size, found.st_mtime_ns)
            try:
                metadata = _metadata(self._key)
                with open(path, "rb") as file:
                    verify(file)
                schema = metadata.schema.to_arrow_schema()
                self.columns: tuple[str, ...] = tuple(schema.names)
            except (pa.ArrowException, UnicodeDecodeError) as error:
                raise PartError(f"it is not Parquet, or damaged: {error}") from None
        self._sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        verify_distinct(self.columns)
        self.kinds = kinds(schema)
        self.rows: int = metadata.num_rows

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        together: list[int] = []
        held = 0
        for group, size in enumerate(self._sizes):
            if together and held + size > rows:
                yield ParquetRange(
                    start, held, self._key, tuple(together), None, rows, self.columns
                )
                start, together, held = start + held, [], 0
            if size <= rows:
                together, held = [*together, group], held + size
                continue
            for offset in range(0, size, rows):
                part = min(rows, size - offset)
                yield ParquetRange(start, part, self._key, (group,), offset, rows, self.columns)
                start += part
        if held:
            yield ParquetRange(start, held, self._key, tuple(together), None, rows, self.columns)


@lru_cache(maxsize=16)
def _metadata(key: Key) -> Any:
    with open(key[0], "rb") as file:
        return pq.read_metadata(file)


def _file(key: Key, buffer: int = _BUFFER) -> Any:
    """The file, which must be what it was when its ranges were made. Without a buffer a column
    chunk is read at once."""
    found = os.stat(key[0])
    if (found.st_size, found.st_mtime_ns) != key[1:]:
        raise PartError("the file has changed while it was read")
    return pq.ParquetFile(
        key[0],
        metadata=_metadata(key),
        buffer_size=buffer,
        pre_buffer=False,
        page_checksum_verification=True,
    )


class _Cursor:
    """A large row group on its way through, in stretches of `step` rows."""

    def __init__(self, key: Key, group: int, columns: tuple[str, ...], step: int) -> None:
        self._make: Callable[[], Iterator[Any]] = lambda: _stretches(
            _file(key), group, columns, step
        )
        self._step = step
        self._lock = threading.Lock()
        self._stretches = self._make()
        self._next = 0
        self._waiting: dict[int, Any] = {}

    def take(self, offset: int) -> Any:
        """The rows from `offset` on."""
        with self._lock:
            if offset in self._waiting:
                return self._waiting.pop(offset)
            if offset < self._next:
                self._stretches, self._next = self._make(), 0
            try:
                while (at := self._next) <= offset:
                    self._waiting[at] = next(self._stretches)
                    self._next += self._step
                    if len(self._waiting) > _WAITING:
                        del self._waiting[min(self._waiting)]
                return self._waiting.pop(offset)
            except StopIteration:
                raise _fewer() from None
            except (OSError, pa.ArrowException):
                self._stretches, self._next = (
                    self._make(),
                    0,
                )  # what has failed once can't be asked again
                raise


def _stretches(file: Any, group: int, columns: tuple[str, ...], step: int) -> Iterator[Any]:
    """Tables of `step` rows each, whatever the batches are that pyarrow makes of pages."""
    held: list[Any] = []
    count = 0
    for batch in file.iter_batches(
        batch_size=step, row_groups=[group], columns=list(columns), use_threads=False
    ):
        if not held and batch.num_rows == step:
            yield pa.Table.from_batches([batch])
            continue
        held.append(batch)
        count += batch.num_rows
        while count >= step:
            table = pa.Table.from_batches(held)
            yield table.slice(0, step)
            rest = table.slice(step)
            held, count = rest.to_batches(), rest.num_rows
    if count:
        yield pa.Table.from_batches(held)


def _fewer() -> PartError:
    return PartError("there are fewer rows than the footer says")


_cursors: dict[tuple[Any, ...], _Cursor] = {}
_cursors_lock = threading.Lock()


def _cursor(key: Key, group: int, columns: tuple[str, ...], step: int) -> _Cursor:
    """This process's cursor through a row group; the oldest makes room."""
    with _cursors_lock:
        name = (key, group, columns, step)
        if name not in _cursors:
            while len(_cursors) >= _CURSORS:
                del _cursors[next(iter(_cursors))]
            _cursors[name] = _Cursor(key, group, columns, step)
        return _cursors[name]
