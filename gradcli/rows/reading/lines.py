"""Text in lines, cut into ranges of rows at line ends, without a step of Python for each row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import PartError
from .streams import Feed

BOM = b"\xef\xbb\xbf"  # of UTF-8, before the first line
MAX_ROW = 64 << 20  # bytes; what is longer is a quote that never ends, or no text in lines


class Piece(NamedTuple):
    """Whole rows: `length` bytes from `offset` on, `size` rows; the bytes themselves only where
    they were held."""

    offset: int
    length: int
    size: int
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Lines:
    """Where a range's text is: in itself, or in a file."""

    length: int
    data: bytes | None = None
    path: str = ""
    offset: int = 0

    def read(self) -> bytes:
        """The bytes. Raises PartError where the file has changed, OSError where it can't be
        read."""
        if self.data is not None:
            return self.data
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset)
            data = file.read(self.length)
        if len(data) != self.length:
            raise PartError("it has become shorter while it was read")
        return data


def cut(
    feed: Feed, skip: int, rows: int, start: int, delimiter: bytes = b""
) -> Iterator[tuple[int, int, Lines]]:
    """A feed behind its first `skip` bytes in ranges: the first row, how many, and where they are.

    Only files that are plain text can be read in the middle; of others each range takes its bytes
    along.
    """
    for piece in pieces(feed.chunks(skip), rows, delimiter, held=not feed.plain):
        where = (
            Lines(piece.length, path=feed.path, offset=skip + piece.offset)
            if piece.data is None
            else Lines(piece.length, piece.data)
        )
        yield start, piece.size, where
        start += piece.size


def pieces(
    chunks: Iterable[bytes], rows: int, delimiter: bytes = b"", held: bool = True
) -> Iterator[Piece]:
    """Cuts text into pieces of `rows` rows; the last may have fewer. Empty lines at the end are no
    rows.

    With a delimiter, line ends within quoted cells end no row. Raises PartError for a row of more
    than 64 MiB, and for a quote without an end.
    """
    count = full = 0  # rows that have ended, and those up to the last that isn't an empty line
    ended = full_end = 0  # and where
    cut_count = cut_end = 0  # where the last piece ended
    planned: list[tuple[int, int]] = []  # cuts behind which only empty lines have been seen yet
    tail = b""  # of the row that hasn't ended
    store = bytearray()  # the bytes from `cut_end` on

    def piece(upto: int, end: int) -> Piece:
        nonlocal cut_count, cut_end
        data = bytes(memoryview(store)[: end - cut_end]) if held else None
        del store[: end - cut_end]
        made = Piece(cut_end, end - cut_end, upto - cut_count, data)
        cut_count, cut_end = upto, end
        return made

    for chunk in chunks:
        if held:
            store += chunk
        ends = row_ends(tail, chunk, delimiter)
        if len(ends):
            last = _last_full(tail, chunk, ends)
            planned += [
                (count + k + 1, ended + int(ends[k]))
                for k in range(rows - 1 - count % rows, len(ends), rows)
            ]
            if last is not None:
                full, full_end = count + last + 1, ended + int(ends[last])
            count += len(ends)
            tail = chunk[int(ends[-1]) - len(tail) :]
            ended += int(ends[-1])
        else:
            tail += chunk
        while planned and planned[0][0] <= full:
            yield piece(*planned.pop(0))
        if len(tail) > MAX_ROW:
            raise PartError(f"a row is longer than {MAX_ROW >> 20} MiB: a quote that never ends?")
    is_open = bool(delimiter) and not len(row_ends(b"", tail + b"\n", delimiter))
    if tail.strip(b"\r\n") and not is_open:  # a last line without its newline
        full, full_end = count + 1, ended + len(tail)
        for upto, end in planned:
            yield piece(upto, end)
    if full > cut_count:
        yield piece(full, full_end)
    if is_open:
        raise PartError("a quote that begins in its last row never ends")


def divided(lines: Lines, size: int, rows: int, delimiter: bytes = b"") -> Iterator[Piece]:
    """Text of `size` rows in pieces of at most `rows` rows."""
    data = lines.read()
    ends = row_ends(b"", data, delimiter)
    edges = [0, *(int(ends[k - 1]) for k in range(rows, size, rows)), len(data)]
    for k, (begin, end) in enumerate(pairwise(edges)):
        yield Piece(begin, end - begin, min(rows, size - k * rows), data[begin:end])


def row_ends(tail: bytes, chunk: bytes, delimiter: bytes) -> NDArray[np.int64]:
    """The positions behind each newline that ends a row, counted from where `tail` begins, which is
    a row."""
    if not delimiter or (b'"' not in chunk and b'"' not in tail):
        return np.flatnonzero(np.frombuffer(chunk, np.uint8) == 10) + (len(tail) + 1)
    text = tail + chunk
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10) + 1
    quotes = np.flatnonzero(np.frombuffer(text, np.uint8) == 34)
    if not (np.searchsorted(quotes, ends) % 2).any():
        return ends  # each line has an even number of quotes: none of them holds a newline
    return np.flatnonzero(np.frombuffer(masked(text, delimiter), np.uint8) == 10) + 1


def _last_full(tail: bytes, chunk: bytes, ends: NDArray[np.int64]) -> int | None:
    """Which of the rows with these ends is the last that isn't an empty line."""
    for k in range(len(ends) - 1, -1, -1):
        end, begin = int(ends[k]), int(ends[k - 1]) if k else 0
        before = end - 2 - len(tail)  # of the newline, in the chunk
        if end - begin > 2 or (
            end - begin == 2 and (chunk[before] if before >= 0 else tail[-1]) != 13
        ):
            return k
    return None


def masked(text: bytes, delimiter: bytes) -> bytes:
    """The text with quoted cells blotted out. A quote within a cell that isn't quoted means
    nothing."""
    cell = rb'(?:(?<=[\n%s])|\A)"(?:[^"]|"")*+(?:"|\Z)' % re.escape(delimiter)
    return re.sub(cell, lambda match: b"." * len(match[0]), text)
