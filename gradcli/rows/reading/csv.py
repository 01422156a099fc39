"""CSV, separated by commas, semicolons or tabs: a header line, then rows; a bad cell costs only its
row.

Numbers are float64 whatever they look like, so that each block says the same; a column of true and
false is bool. Where there is much to read and nothing odd in it, pyarrow decodes it; it is imported
only then.
"""

from __future__ import annotations

import csv as _csv
import importlib.util
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..blocks import Block, PartError, Range, unreadable, verify_distinct
from ..exact import EXACT, may_vanish, shown
from ..flat import Cells, fill, layouts, objects
from .lines import BOM, MAX_ROW, Lines, cut, divided, masked, row_ends
from .streams import Feed
from .texts import decoded, numbers

DELIMITERS = ",;\t"
_HEAD, _MAX_HEADER = 1 << 16, 1 << 24
_MUCH = 1 << 16  # bytes that repay importing pyarrow


@dataclass(frozen=True, slots=True)
class CsvRange:
    """Some rows of a CSV file."""

    start: int
    size: int
    lines: Lines
    header: tuple[str, ...]
    delimiter: str

    def divided(self, rows: int) -> Iterator[Range]:
        start = self.start
        for piece in divided(self.lines, self.size, rows, self.delimiter.encode()):
            lines = Lines(piece.length, piece.data)
            yield CsvRange(start, piece.size, lines, self.header, self.delimiter)
            start += piece.size

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        where = layouts(numeric, self.header)
        wanted = list(dict.fromkeys(column for place in where.values() for column in place.columns))
        kept = [column for column in keep if column in self.header]
        block = Block(self.start, self.size)
        try:
            data = self.lines.read()
            cells = self._fast(data, wanted, kept, block) or self._careful(
                data, wanted, kept, block
            )
        except (OSError, PartError) as error:
            return unreadable(self.start, self.size, numeric, keep, error)
        fill(block, where, cells)
        return block

    def _fast(
        self, data: bytes, wanted: list[str], kept: list[str], block: Block
    ) -> dict[str, Cells] | None:
        """The cells, where all are what they should be and no number might lose digits; else
        None."""
        if not _repays_arrow(data):
            return None
        import pyarrow as pa

        from .tables import whole

        try:
            table = self._table(
                data, dict.fromkeys(wanted, pa.float64()) | dict.fromkeys(kept, pa.string())
            )
            cells = {name: _floats(whole(table[name])) for name in wanted}
        except pa.ArrowException:
            return None
        if table.num_rows != self.size or any(
            (np.abs(column.values) >= EXACT).any() for column in cells.values()
        ):
            return None
        if any((column.values == 0).any() for column in cells.values()) and may_vanish(data):
            return None
        if b"(" in data and any(np.isnan(column.values).any() for column in cells.values()):
            return None  # nan(…) is a number for pyarrow
        block.kept = {name: whole(table[name]) for name in kept}
        return cells

    def _careful(
        self, data: bytes, wanted: list[str], kept: list[str], block: Block
    ) -> dict[str, Cells]:
        """The cells one by one, with the reason why a row can't be read."""
        data, strays = _without_strays(data, self.delimiter.encode())
        rows = _rows(data.decode("utf-8", "surrogateescape"), self.delimiter)
        if len(rows) != self.size:
            why = "quotes in odd places?"
            raise PartError(f"{self.size} lines were counted, and {len(rows)} rows found: {why}")
        for k, row in enumerate(rows):
            if len(row) != len(self.header):
                wanted_size = f"{len(self.header)} cell{'s' * (len(self.header) > 1)}"
                block.rejected[k] = f"expected {wanted_size}, got {len(row)}"
                rows[k] = [None] * len(self.header)
        block.rejected |= strays
        cells = {}
        for name in dict.fromkeys([*wanted, *kept]):
            at = self.header.index(name)
            texts, rejected = decoded(name, [row[at] for row in rows])
            for k, reason in rejected.items():
                block.rejected.setdefault(k, reason)
            if name in kept:
                block.kept[name] = objects([text or None for text in texts])
            if name in wanted:
                cells[name] = numbers(name, texts)
        return cells

    def _table(self, data: bytes, types: dict[str, Any]) -> Any:
        """The columns as an Arrow table."""
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        return pa_csv.read_csv(
            pa.BufferReader(data),
            pa_csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self.header
            ),
            pa_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=b'"' in data,
                ignore_empty_lines=False,
            ),
            pa_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


class CsvPart:
    """One CSV file, or what comes from standard input. What separates its cells is told by the
    first line. If that has numbers only, it is an error, unless columns `may_lack_names`: they are
    called "1", "2", … then."""

    fixed = True
    rows = None

    def __init__(self, path: str, may_lack_names: bool = False) -> None:
        self._feed = Feed(path)
        size = _HEAD
        while (end := _header_end(head := self._feed.head(size))) is None and len(head) == size:
            size *= 4
            if size > _MAX_HEADER:
                raise PartError(f"its first line has no end within {_MAX_HEADER >> 20} MiB")
        line = head[:end]
        self.delimiter = _delimiter(line)
        self.kinds: dict[str, str] = {}
        self.columns = _names(line, self.delimiter)
        self.has_names = any(name and not _is_number(name) for name in self.columns)
        if not self.has_names:
            if not may_lack_names:
                raise PartError(_nameless(line, self.columns))
            self.columns = tuple(
                str(k) for k in range(1, 1 + len(self.columns) * any(self.columns))
            )
        verify_distinct(self.columns)
        self._first = len(line if self.has_names else line[: line.startswith(BOM) * len(BOM)])
        self.header_lines = line.count(b"\n") if self.has_names else 0

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        for first, size, lines in cut(
            self._feed, self._first, rows, start, self.delimiter.encode()
        ):
            yield CsvRange(first, size, lines, self.columns, self.delimiter)


def _header_end(text: bytes) -> int | None:
    """Where the first line ends; a name in quotes may hold line ends itself."""
    mark = BOM if text.startswith(BOM) else b""
    ends = row_ends(b"", text[len(mark) :], DELIMITERS.encode())
    return len(mark) + int(ends[0]) if len(ends) else None


def _delimiter(line: bytes) -> str:
    """What separates cells: whichever the first line has most of outside of quotes."""
    plain = masked(line.removeprefix(BOM), DELIMITERS.encode())
    return max(DELIMITERS, key=lambda delimiter: plain.count(delimiter.encode()))


def _names(line: bytes, delimiter: str) -> tuple[str, ...]:
    try:
        text = line.removeprefix(BOM).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise PartError("it is not UTF-8 text") from None
    try:
        reader = _csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        names = tuple(name.strip() for name in next(reader, []))
    except _csv.Error as error:
        raise PartError(f"its first line must name the columns: {error}") from None
    if next(reader, None) is not None:
        raise PartError("its lines end with a carriage return alone: save it with line feeds")
    return names


def _nameless(line: bytes, names: Sequence[str]) -> str:
    """What is wrong with a first line that names no column."""
    if not any(names):
        return "it has no header: its first line must name the columns"
    said = shown(line.removeprefix(BOM).decode().rstrip("\r\n"))
    return f"its first line must name the columns, and says `{said}`"


def _rows(text: str, delimiter: str) -> list[list[Any]]:
    """The cells of each row, however long they are."""
    limit = _csv.field_size_limit(MAX_ROW)
    try:
        return [
            row or [""] for row in _csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        ]
    finally:
        _csv.field_size_limit(limit)


def _repays_arrow(data: bytes) -> bool:
    """Whether pyarrow is there already, or can be imported and is worth it."""
    return sys.modules.get("pyarrow") is not None or (
        len(data) > _MUCH and importlib.util.find_spec("pyarrow") is not None
    )


def _without_strays(data: bytes, delimiter: bytes) -> tuple[bytes, dict[int, str]]:
    """The text without carriage returns outside of quotes, where a new row would begin; and
    the rows that have one."""
    if data.count(b"\r") == data.count(b"\r\n"):
        return data, {}
    found = [match.start() for match in re.finditer(rb"\r(?!\n|\Z)", masked(data, delimiter))]
    rows = np.searchsorted(row_ends(b"", data, delimiter), found, "right").tolist()
    text = np.frombuffer(data, np.uint8).copy()
    text[found] = ord(" ")
    return text.tobytes(), dict.fromkeys(rows, "a carriage return stands outside of quotes")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return not name.lower().lstrip("+-").startswith(("nan", "inf"))


def _floats(column: Any) -> Cells:
    import pyarrow as pa

    if column.type != pa.float64():  # a key that the program takes, too
        column = column.cast(pa.float64())
    missing = np.array(column.is_null()) if column.null_count else None
    return Cells(column.to_numpy(zero_copy_only=False), missing)
