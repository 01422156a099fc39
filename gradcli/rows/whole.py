"""Data that is read whole: the columns of one file as arrays, for inputs that all of a program
sees. Whatever reads rows reads these, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from .blocks import Array, Block, PartError, Range
from .flat import grouped
from .reading.lines import row_ends
from .sources import open_part

_ALL = 1 << 62  # rows: one range
_NAMED = 5  # places in a message
_TEXT = ("csv", "tsv")
_HEADED = ("parquet", "arrow")  # which say in one place what all of their columns are


def column_names(path: str, format: str) -> tuple[str, ...]:
    """The columns that a file's header names, of which no row is read. Raises PartError."""
    if format in _TEXT:
        from .reading.csv import CsvPart

        csv = CsvPart(path, may_lack_names=True)
        return grouped(csv.columns) if csv.has_names else ()
    return grouped(tuple(open_part(path, format).columns)) if format in _HEADED else ()


class Table:
    """The columns of a file. `name` is what messages call it."""

    def __init__(self, path: str, format: str, name: str) -> None:
        """Raises GradcliError (E005)."""
        self.name = name
        try:
            if format in _TEXT:
                from .reading.csv import CsvPart

                csv = CsvPart(path, may_lack_names=True)
                self.has_names, self._lines_before = csv.has_names, csv.header_lines
                self._delimiter = csv.delimiter.encode()
                part: Any = csv
            else:
                part = open_part(path, format)
                self.has_names = part.columns != ("",)  # those of NPY may have none
                self._lines_before, self._delimiter = 0, b""
            self.names = grouped(part.columns)
            self._ranges: list[Range] = list(part.ranges(_ALL, 0))
        except PartError as error:
            self._fail(str(error))
        if self.has_names and not any(where.size for where in self._ranges):
            self._fail("it has no rows", help="a header needs lines of numbers below it")

    def column(self, name: str) -> Array:
        """One column. Raises GradcliError (E005)."""
        if name not in self.names or not self.has_names:
            known = ", ".join(f"`{known}`" for known in self.names)
            help = did_you_mean(name, self.names) or f"its columns are {known}"
            self._fail(
                f"it has no column `{name}`",
                help=help if self.has_names else "it names none: take it whole",
            )
        return self._read([name])[name]

    def numbers(self) -> tuple[dict[str, Array], dict[str, Diagnostic]]:
        """The columns of numbers by name, and of the others what is wrong with each. Raises
        GradcliError (E005) where all are wrong."""
        found: dict[str, Array] = {}
        wrong: dict[str, Diagnostic] = {}
        try:
            return self._read(self.names), wrong
        except GradcliError:
            for name in self.names:
                try:
                    found |= self._read([name])
                except GradcliError as error:
                    wrong[name] = error.diagnostics[0]
            if not found:
                raise
        return found, wrong

    def matrix(self) -> Array:
        """One column as a vector, several as a matrix; those of text are left out. Raises
        GradcliError (E005)."""
        if not self.names:
            return np.zeros(0)
        found, wrong = self.numbers()
        for name, what in wrong.items():
            if not self._is_text(name):
                raise GradcliError(what)
        columns = list(found.values())
        if len(columns) == 1:
            return columns[0]
        if len({column.shape for column in columns}) > 1:
            self._fail("its columns differ in shape", help="name one: @FILE:COLUMN")
        return np.stack(columns, axis=1)

    def _read(self, names: Sequence[str]) -> dict[str, Array]:
        try:
            blocks = [where.read(names, []) for where in self._ranges]
        except GradcliError as error:
            self._fail(error.diagnostics[0].message, help=error.diagnostics[0].help)
        for where, block in zip(self._ranges, blocks, strict=True):
            if block.unreadable:
                self._fail(block.unreadable)
            if block.rejected:
                row = min(block.rejected)
                self._fail(block.rejected[row], self._place(where, row))
            if block.missing:
                self._refuse_missing(where, block)
        columns = {name: np.concatenate([b.columns[name] for b in blocks]) for name in names}
        for name, column in columns.items():
            if column.dtype == object:
                self._fail(f"column `{name}` holds lists of several shapes")
        return columns

    def _is_text(self, name: str) -> bool:
        """Whether a column holds something, and no number."""
        try:
            blocks = [where.read([name], []) for where in self._ranges]
        except GradcliError:  # dates, say
            return True
        nothing = sum(block.missing[name].sum() for block in blocks if name in block.missing)
        bad = sum(len(block.rejected) for block in blocks)
        return 0 < bad == sum(block.size for block in blocks) - int(nothing)

    def _refuse_missing(self, where: Range, block: Block) -> NoReturn:
        """Says which cells are empty."""
        name, mask = next(iter(block.missing.items()))
        rows = np.flatnonzero(mask).tolist()
        places = [self._place(where, row) for row in rows[:_NAMED]]
        kind, others = places[0].strip(":, 0123456789") or "line", len(rows) - _NAMED
        more = [place.strip(":, row") for place in places[1:]]
        more += [f"{others} more"] if others > 0 else []
        also = f"; nor in {kind}{'s' * (len(more) > 1)} {', '.join(more)}" if more else ""
        self._fail(
            f"column `{name}` has no value{also}",
            places[0],
            "an input has all of its values: fill the cells, or leave out their rows",
        )

    def _place(self, where: Range, row: int) -> str:
        """`:3` for line 3, or `, row 2` where a format has no lines."""
        lines = getattr(where, "lines", None)
        if lines is None:
            return f", row {row + 1}"
        data = lines.read()
        ends = row_ends(b"", data, self._delimiter)
        before = data[: int(ends[row - 1])].count(b"\n") if row else 0
        return f":{self._lines_before + before + 1}"

    def _fail(self, message: str, place: str = "", help: str = "") -> NoReturn:
        raise GradcliError(
            Diagnostic("E005", f"{self.name}{place}: {message}", help=help)
        ) from None
