"""NPZ: an array a column under its name, rows first; text as fixed-width Unicode.

The partial file holds the blocks as they come, each with a line that says what is in it. Only when
all are there, the arrays are put together, a block at a time, into an archive.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ...safe_files import member_name, plain_file
from ..blocks import Array
from .columns import Column, as_numpy, distinct, flattened, floats, same
from .files import Mark, PartialFile
from .json_text import text_of

_LENGTH = 8  # bytes that say how long the line is that begins a block
_BLOCKS = ".blocks"  # the ending of the partial file
_AS_FLOAT = "an NPZ file says with nan which rows have none"


class _Segment(NamedTuple):
    """What one block has of an array, and where that begins."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int


class NpzWriter:
    """An NPZ file; its position is a mark of the partial file."""

    def __init__(self, path: str, resume_at: Sequence[int] | None) -> None:
        self._path = path
        self._file = PartialFile(path + _BLOCKS, resume_at)
        self._shapes: dict[str, tuple[int, ...]] = {}

    def append(self, columns: Sequence[Column]) -> Mark:
        distinct([column.name for column in columns])
        arrays = [_array(column) for column in columns]
        shapes = {
            column.name: array.shape[1:] for column, array in zip(columns, arrays, strict=True)
        }
        same("NPZ", self._shapes or shapes, shapes)
        self._shapes = shapes
        entries = [
            (column.name, array.dtype.str, array.shape)
            for column, array in zip(columns, arrays, strict=True)
        ]
        line = json.dumps(entries).encode()
        self._file.write(len(line).to_bytes(_LENGTH, "little") + line)
        for array in arrays:
            self._file.write(array.tobytes())
        return self._file.mark

    def finish(self) -> None:
        self._file.finish()
        Path(self._path).unlink(missing_ok=True)  # of a job that was killed here
        with (
            open(self._file.path, "rb", opener=plain_file) as file,
            open(self._path, "xb", opener=plain_file) as raw,
        ):
            with zipfile.ZipFile(raw, "w") as out:
                for segments in _segments(file, self._file.position):
                    _member(out, file, segments)
            raw.flush()
            os.fsync(raw.fileno())

    def close(self) -> None:
        self._file.close()


def _array(column: Column) -> Array:
    """A column as NPZ holds it: numbers without a value are nan, text without one is empty."""
    values = column.values
    if isinstance(values, np.ndarray) and values.dtype == object:
        flattened([column])  # says so where rows differ in shape
    array, mask = as_numpy(values, column.mask)
    if array.dtype == object:
        array = np.array([text_of(value) or "" for value in array.tolist()], dtype=np.str_)
        return array if mask is None else np.where(mask, "", array)
    if mask is None or not mask.any():
        return array
    if array.dtype.kind in "iu":
        return floats(column.name, array, mask, _AS_FLOAT)
    return np.where(
        mask if mask.ndim == array.ndim else mask.reshape(-1, *[1] * (array.ndim - 1)),
        np.nan,
        array,
    )


def _segments(file: BinaryIO, end: int) -> list[list[_Segment]]:
    """The segments of each column, in the order of the blocks."""
    columns: list[list[_Segment]] = []
    file.seek(0)
    while file.tell() < end:
        entries = json.loads(file.read(int.from_bytes(file.read(_LENGTH), "little")))
        columns = columns or [[] for _ in entries]
        begin = file.tell()
        for column, (name, dtype, shape) in zip(columns, entries, strict=True):
            column.append(_Segment(name, np.dtype(dtype), tuple(shape), begin))
            begin += np.dtype(dtype).itemsize * math.prod(shape)
        file.seek(begin)
    return columns


def _member(archive: zipfile.ZipFile, file: BinaryIO, segments: list[_Segment]) -> None:
    """Puts one array into the archive. Its type is one that holds what all blocks have."""
    dtype = np.result_type(*(segment.dtype for segment in segments))
    rows = sum(segment.shape[0] for segment in segments)
    # A fixed date: the same job gives the same bytes.
    with archive.open(
        zipfile.ZipInfo(f"{member_name(segments[0].name)}.npy"), "w", force_zip64=True
    ) as member:
        shape = (rows, *segments[0].shape[1:])
        header = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": shape,
        }
        np.lib.format.write_array_header_2_0(member, header)
        for segment in segments:
            file.seek(segment.begin)
            block = np.frombuffer(
                file.read(segment.dtype.itemsize * math.prod(segment.shape)), segment.dtype
            )
            if dtype.kind == "f" and segment.dtype.kind in "iu":
                block = floats(segment.name, block, None, _AS_FLOAT)
            member.write(block.astype(dtype, copy=False).tobytes())
