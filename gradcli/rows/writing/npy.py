"""NPY: one matrix of float64, a row a row, a column for each number of the outputs in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ...safe_files import plain_file
from ..blocks import Array, Mask
from .columns import Column, as_numpy, flattened, floats, same
from .files import PartialFile

_HEADER = 128


class NpyWriter:
    """An NPY file; its position is a number of bytes."""

    def __init__(self, path: str, resume_at: int | None = None) -> None:
        self._file = PartialFile(path, resume_at)
        self._names: list[str] | None = None
        self._width = 0
        if resume_at:
            with open(path, "rb", opener=plain_file) as file:
                np.lib.format.read_magic(file)
                (_, self._width), _, _ = np.lib.format.read_array_header_1_0(file)

    def append(self, columns: Sequence[Column]) -> int:
        flats = flattened(columns)
        names = [flat.name for flat in flats]
        same("NPY", self._names or names, names)
        self._names = names
        if not self._file.position:
            self._width = len(flats)
            self._file.write(_header(0, self._width))
        matrix = np.empty((len(flats[0].values) if flats else 0, self._width))
        for k, flat in enumerate(flats):
            matrix[:, k] = _numbers(flat.name, flat.values, flat.mask)
        self._file.write(matrix.data.cast("B") if matrix.size else b"")
        return self._file.position

    def finish(self) -> None:
        rows = (self._file.position - _HEADER) // (8 * self._width) if self._width else 0
        self._file.file.seek(0)
        self._file.file.write(_header(rows, self._width))
        self._file.finish()

    def close(self) -> None:
        self._file.close()


def _header(rows: int, width: int) -> bytes:
    """The header of a matrix, as long for each number of rows."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {width}), }}"
    magic = np.lib.format.magic(1, 0)
    size = _HEADER - len(magic) - 2
    return magic + size.to_bytes(2, "little") + f"{text:<{size - 1}}\n".encode()


def _numbers(name: str, values: Any, mask: Mask | None) -> Array:
    """A column as float64, nan where there is no value. Raises GradcliError for text, and where digits would be lost."""
    array, mask = as_numpy(values, mask)
    if array.dtype.kind not in "fiub":
        message = f"`{name}` holds text, which an NPY file of numbers can't"
        raise GradcliError(Diagnostic("E006", message, help="leave it out of --keep, or write to .npz, .csv or .parquet"))
    return floats(name, array, mask, "an NPY file has nothing else")
