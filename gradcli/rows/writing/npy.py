"""NPY: one matrix of float64, a row a row, a column for each number of the outputs in their
order."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ..blocks import Array, Mask
from .columns import Column, as_numpy, flattened, floats, same
from .files import PartialFile

_HEADER = 128  # bytes


class NpyWriter:
    """An NPY file; its position is a mark, and the width of a row. Its header is written at the
    end, when it is known."""

    def __init__(self, path: str, resume_at: Sequence[int] | None) -> None:
        self._file = PartialFile(path, resume_at, _HEADER)
        self._names: list[str] | None = None
        self._width = resume_at[2] if resume_at else 0

    def append(self, columns: Sequence[Column]) -> tuple[int, int, int]:
        flats = flattened(columns)
        names = [flat.name for flat in flats]
        same("NPY", self._names or names, names)
        self._names = names
        self._width = len(flats)
        matrix = np.empty((len(flats[0].values) if flats else 0, self._width))
        for k, flat in enumerate(flats):
            matrix[:, k] = _numbers(flat.name, flat.values, flat.mask)
        self._file.write(matrix.data.cast("B") if matrix.size else b"")
        return *self._file.mark, self._width

    def finish(self) -> None:
        rows = (self._file.position - _HEADER) // (8 * self._width) if self._width else 0
        self._file.finish(_header(rows, self._width))

    def close(self) -> None:
        self._file.close()


def _header(rows: int, width: int) -> bytes:
    """The header of a matrix. NumPy leaves room in it for rows to come, so it is as long for each
    number of rows."""
    header = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_1_0(header, described)
    return header.getvalue()


def _numbers(name: str, values: Any, mask: Mask | None) -> Array:
    """A column as float64, nan where there is no value. Raises GradcliError for text, and where
    digits would be lost."""
    array, mask = as_numpy(values, mask)
    if array.dtype.kind not in "fiub":
        message = f"`{name}` holds text, which an NPY file of numbers can't"
        raise GradcliError(
            Diagnostic(
                "E006", message, help="leave it out of --keep, or write to .npz, .csv or .parquet"
            )
        )
    return floats(name, array, mask, "an NPY file has nothing else")
