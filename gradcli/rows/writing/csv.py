"""CSV: a header, then rows; nothing where there is no value, text in quotes only where it needs
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from .. import compute as pc
from ..arrays import literal
from .columns import Column, same
from .files import Mark, output
from .tables import batch_of
from .text import ROWS, is_number, joined, plain, written


class CsvWriter:
    """A CSV file, or a TSV one; its position is a mark."""

    def __init__(self, path: str, resume_at: Sequence[int] | None, delimiter: str) -> None:
        self._output = output(path, resume_at)
        self._delimiter = delimiter
        self._names: list[str] | None = None

    def append(self, columns: Sequence[Column]) -> Mark:
        batch = batch_of(columns)
        names = batch.schema.names
        same("CSV", self._names or names, names)
        self._names = names
        if not self._output.position:
            header = self._delimiter.join(map(self._quoted_name, names))
            self._output.write(f"{header}\n".encode())
        for start in range(0, batch.num_rows, ROWS):
            self._output.write(self._text(batch.slice(start, ROWS)))
        return self._output.mark

    def finish(self) -> None:
        self._output.finish()

    def close(self) -> None:
        self._output.close()

    def _text(self, batch: Any) -> memoryview:
        """The rows as text. Numbers are written the same way both ways: Arrow's own is quicker, and
        quotes all text."""
        if not all(is_number(kind) for kind in batch.schema.types) or (
            batch.num_columns == 1 and batch.column(0).null_count
        ):
            return written(self._lines(batch))
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(
            batch, sink, pa_csv.WriteOptions(include_header=False, delimiter=self._delimiter)
        )
        return memoryview(sink.getvalue())

    def _lines(self, batch: Any) -> Any:
        cells = [
            plain(array) if is_number(array.type) else self._quoted(plain(array))
            for array in batch.columns
        ]
        if len(cells) == 1:
            cells = [
                pc.fill_null(cells[0], literal('""'))
            ]  # an empty line would be no row at the end
        parts: list[Any] = []
        for cell in cells:
            parts += [cell, self._delimiter]
        return joined(*parts[:-1], "\n")

    def _quoted_name(self, name: str) -> str:
        special = not name or any(c in name for c in f'"\r\n{self._delimiter}')
        return '"' + name.replace('"', '""') + '"' if special else name

    def _quoted(self, cells: Any) -> Any:
        special = pc.match_substring_regex(cells, f'["\r\n{self._delimiter}]|^$')
        if not pc.any(special).as_py():
            return cells
        quoted = joined('"', pc.replace_substring(cells, '"', '""'), '"')
        return pc.if_else(special, quoted, cells)
