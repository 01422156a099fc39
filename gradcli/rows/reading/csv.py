"""CSV, comma or tab separated: a header line, then rows; decoded by pyarrow, a bad cell costs only
its row.

Numbers are float64 whatever they look like, so that each block says the same; a column of true and
false is bool.
"""

from __future__ import annotations

import csv as _csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from ..arrays import numbers as numbers_of
from ..blocks import Block, PartError, Range, unreadable, verify_distinct
from ..exact import EXACT, may_vanish, shown
from ..flat import Cells, fill, layouts
from .lines import BOM, Lines, cut, masked, row_ends
from .streams import Feed
from .tables import nothing, whole
from .texts import decoded, numbers

_HEAD, _MAX_HEADER = 1 << 16, 1 << 24


@dataclass(frozen=True, slots=True)
class CsvRange:
    """Some rows of a CSV file."""

    start: int
    size: int
    lines: Lines
    header: tuple[str, ...]
    delimiter: str

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
        except (OSError, PartError, pa.ArrowException) as error:
            return unreadable(self.start, self.size, numeric, keep, error)
        fill(block, where, cells)
        return block

    def _fast(
        self, data: bytes, wanted: list[str], kept: list[str], block: Block
    ) -> dict[str, Cells] | None:
        """The cells, where all are what they should be and no number might lose digits; else
        None."""
        try:
            table = self._table(
                data, dict.fromkeys(wanted, pa.float64()) | dict.fromkeys(kept, pa.string())
            )
            cells = {name: _floats(whole(table[name])) for name in wanted}
        except pa.ArrowInvalid:
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
        as_latin = not _is_utf8(data)
        if as_latin:  # or pyarrow couldn't tell of a row that has too few cells or too many
            data = data.decode("latin-1").encode()
        data, strays = _without_strays(data, self.delimiter.encode())
        table = self._table(data, dict.fromkeys([*wanted, *kept], pa.binary()), block.rejected)
        found = table.num_rows + len(block.rejected)
        if found != self.size:
            why = "quotes in odd places?"
            raise PartError(f"{self.size} lines were counted, and {found} rows found: {why}")
        if block.rejected:
            rows = np.ones(self.size, bool)
            rows[list(block.rejected)] = False
            places = np.where(rows, np.cumsum(rows) - 1, 0)
            table = (
                table.take(numbers_of(places, ~rows))
                if table.num_rows
                else nothing(table.schema, self.size)
            )
        block.rejected |= strays
        cells = {}
        for name in dict.fromkeys([*wanted, *kept]):
            texts, rejected = decoded(name, whole(table[name]), as_latin)
            for row, reason in rejected.items():
                block.rejected.setdefault(row, reason)
            if name in kept:
                block.kept[name] = texts
            if name in wanted:
                cells[name] = numbers(name, texts)
        return cells

    def _table(
        self, data: bytes, types: dict[str, Any], rejected: dict[int, str] | None = None
    ) -> Any:
        """The columns as an Arrow table; with `rejected`, without the rows that have a wrong number
        of cells."""

        def wrong(row: Any) -> str:
            assert rejected is not None
            expected, found = row.expected_columns, row.actual_columns
            rejected[row.number - 1] = f"expected {expected} cells, got {found}"
            return "skip"

        return pa_csv.read_csv(
            pa.BufferReader(data),
            pa_csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self.header
            ),
            pa_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=b'"' in data,
                ignore_empty_lines=False,
                invalid_row_handler=None if rejected is None else wrong,
            ),
            pa_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


class CsvPart:
    """One CSV file, or what comes from standard input."""

    fixed = True
    rows = None

    def __init__(self, path: str, delimiter: str = ",") -> None:
        self._feed, self._delimiter = Feed(path), delimiter
        size = _HEAD
        while (end := _header_end(head := self._feed.head(size), delimiter)) is None and len(
            head
        ) == size:
            size *= 4
            if size > _MAX_HEADER:
                raise PartError(f"its first line has no end within {_MAX_HEADER >> 20} MiB")
        self._first = len(head) if end is None else end
        self.kinds: dict[str, str] = {}
        self.columns = _names(head[: self._first], delimiter)

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        for first, size, lines in cut(
            self._feed, self._first, rows, start, self._delimiter.encode()
        ):
            yield CsvRange(first, size, lines, self.columns, self._delimiter)


def _header_end(text: bytes, delimiter: str) -> int | None:
    """Where the first line ends; a name in quotes may hold line ends itself."""
    mark = BOM if text.startswith(BOM) else b""
    ends = row_ends(b"", text[len(mark) :], delimiter.encode())
    return len(mark) + int(ends[0]) if len(ends) else None


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
    if not any(names):
        raise PartError("it has no header: its first line must name the columns")
    if all(_is_number(name) for name in names if name):
        raise PartError(f"its first line must name the columns, and says `{shown(text)}`")
    verify_distinct(names)
    return names


def _without_strays(data: bytes, delimiter: bytes) -> tuple[bytes, dict[int, str]]:
    """The text without carriage returns outside of quotes, where pyarrow would begin a new row; and
    the rows that have one."""
    if data.count(b"\r") == data.count(b"\r\n"):
        return data, {}
    found = [match.start() for match in re.finditer(rb"\r(?!\n|\Z)", masked(data, delimiter))]
    rows = np.searchsorted(row_ends(b"", data, delimiter), found, "right").tolist()
    text = np.frombuffer(data, np.uint8).copy()
    text[found] = ord(" ")
    return text.tobytes(), dict.fromkeys(rows, "a carriage return stands outside of quotes")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return not name.lower().lstrip("+-").startswith(("nan", "inf"))


def _floats(column: Any) -> Cells:
    if column.type != pa.float64():  # a key that the program takes, too
        column = column.cast(pa.float64())
    missing = np.array(column.is_null()) if column.null_count else None
    return Cells(column.to_numpy(zero_copy_only=False), missing)
