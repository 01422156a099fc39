"""Text in lines, cut into ranges of rows at line ends, without a step of Python for each row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import PartError
from .streams import Feed

MAX_ROW = 64 << 20  # bytes; what is longer is a quote that never ends, or no text in lines


class Piece(NamedTuple):
    """Whole rows: the bytes from `offset` on, `size` rows."""

    offset: int
    data: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Where a range's text is: in itself, or in a file."""

    length: int
    data: bytes | None = None
    path: str = ""
    offset: int = 0

    def read(self) -> bytes:
        """The bytes. Raises PartError where the file has changed, OSError where it can't be read."""
        if self.data is not None:
            return self.data
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset)
            data = file.read(self.length)
        if len(data) != self.length:
            raise PartError("it has become shorter while it was read")
        return data


def place(feed: Feed, first: int, piece: Piece) -> Lines:
    """Where a piece of a feed is: only the files that are plain text can be read in the middle."""
    if feed.plain:
        return Lines(len(piece.data), path=feed.path, offset=first + piece.offset)
    return Lines(len(piece.data), piece.data)


def pieces(chunks: Iterable[bytes], rows: int, delimiter: bytes = b"") -> Iterator[Piece]:
    """Cuts text into pieces of `rows` rows; the last may have fewer. Empty lines at the end are no rows.

    With a delimiter, line ends within quoted cells end no row. Raises PartError for a row of more than 64 MiB.
    """
    rest, offset = bytearray(), 0
    ends = np.zeros(0, np.int64)  # of the rows in `rest`
    for chunk in chunks:
        rest += chunk
        begun = int(ends[-1]) if len(ends) else 0
        ends = np.concatenate([ends, begun + _row_ends(bytes(memoryview(rest)[begun:]), delimiter)])
        whole = _without_empty(rest, ends)
        taken = 0
        while len(whole) - taken >= rows:
            a, b = int(whole[taken - 1]) if taken else 0, int(whole[taken + rows - 1])
            yield Piece(offset + a, bytes(memoryview(rest)[a:b]), rows)
            taken += rows
        if taken:
            cut = int(ends[taken - 1])
            del rest[:cut]
            offset, ends = offset + cut, ends[taken:] - cut
        if len(rest) - (int(ends[-1]) if len(ends) else 0) > MAX_ROW:
            raise PartError(f"a row is longer than {MAX_ROW >> 20} MiB: a quote that never ends?")
    if not len(ends) or ends[-1] < len(rest):
        ends = np.append(ends, len(rest))  # a last line without its newline, or with an open quote
    ends = _without_empty(rest, ends)
    for a in range(0, len(ends), rows):
        start, b = int(ends[a - 1]) if a else 0, min(a + rows, len(ends))
        yield Piece(offset + start, bytes(rest[start : int(ends[b - 1])]), b - a)


def _without_empty(text: bytearray, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ends without those of empty lines that come last: whether they are rows, what follows will show."""
    count = len(ends)
    while count and not text[int(ends[count - 2]) if count > 1 else 0 : int(ends[count - 1])].strip(b"\r\n"):
        count -= 1
    return ends[:count]


def _row_ends(text: bytes, delimiter: bytes) -> NDArray[np.int64]:
    """The positions behind each newline that ends a row; `text` begins with one."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 10) + 1
    if not delimiter or b'"' not in text:
        return ends
    quotes = np.flatnonzero(np.frombuffer(text, np.uint8) == 34)
    if not (np.searchsorted(quotes, ends) % 2).any():
        return ends  # each line has an even number of quotes: none of them holds a newline
    return np.flatnonzero(np.frombuffer(_masked(text, delimiter), np.uint8) == 10) + 1


def _masked(text: bytes, delimiter: bytes) -> bytes:
    """The text with quoted cells blotted out. A quote within a cell that isn't quoted means nothing."""
    cell = rb'(?:(?<=[\n%s])|\A)"(?:[^"]|"")*+(?:"|\Z)' % re.escape(delimiter)
    return re.sub(cell, lambda match: b"." * len(match[0]), text)
