"""A reduction as an answer: its values by name, and the file that tells them as `eval` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import printable_lines
from ...rows.writing import Column
from ...rows.writing.files import Mark, PartialFile


def values_of(row: Sequence[Column]) -> dict[str, Any]:
    """The values of the only row by name; None where there is none."""
    return {
        column.name: None if column.mask is not None else column.values[0][()] for column in row
    }


class AnswerWriter:
    """A file with one answer, in the words of `tell`; its position is a mark."""

    def __init__(
        self,
        path: str,
        resume_at: Sequence[int] | None,
        tell: Callable[[dict[str, Any], str], str],
        format: str,
    ) -> None:
        self._file, self._tell, self._format = PartialFile(path, resume_at), tell, format

    def append(self, columns: Sequence[Column]) -> Mark:
        """Writes the answer: of the only row, or of none."""
        row = [column for column in columns if len(column.values)]
        told = self._tell(values_of(row), self._format)
        self._file.write(printable_lines(told).encode("utf-8", "backslashreplace"))
        return self._file.mark

    def finish(self) -> None:
        self._file.finish()

    def close(self) -> None:
        self._file.close()
