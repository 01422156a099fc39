"""NPY: one array, rows first, read where it lies. Its columns are the fields of its type, or one
without a name."""

from __future__ import annotations

import math
import os
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ..blocks import Array, Block, PartError, Range, unreadable
from ..exact import MAX_INT, no_numbers, too_large
from ..flat import Cells, fill, layouts
from ..formats import STDIN
from .streams import CHUNK, opened, said

# What times that are kept become: units that Arrow has, too.
_UNITS = {
    "M": dict.fromkeys("YMWD", "D")
    | dict.fromkeys("hms", "s")
    | {unit: unit for unit in ("ms", "us", "ns")},
    "m": dict.fromkeys("WDhms", "s") | {unit: unit for unit in ("ms", "us", "ns")},
}
_EMPTY_ROWS = 2**20  # rows without a number at most: no size of a file bounds these
_WIDEST = {
    np.dtype(np.longdouble): np.dtype(np.float64),
    np.dtype(np.clongdouble): np.dtype(np.complex128),
}


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in a file: what `header` found, and where its data begins."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    begin: int

    def verify(self, size: int) -> None:
        """Raises PartError where a file of so many bytes can't hold it."""
        wanted = self.begin + math.prod(self.shape) * self.dtype.itemsize
        if wanted > size:
            raise PartError(
                f"it ends too early: with {self.shape[0]} rows it would have {wanted} bytes, and "
                f"it has {size}"
            )

    def read(self, path: str, offset: int, size: int) -> Array:
        """`size` rows from row `offset` on. Raises OSError, and PartError where the file has become
        shorter."""
        try:
            array = np.memmap(
                path, self.dtype, "r", self.begin, self.shape, "F" if self.fortran else "C"
            )
        except ValueError:  # no more than the file can be mapped
            raise PartError("it has become shorter while it was read") from None
        return np.array(array[offset : offset + size])


@dataclass(frozen=True, slots=True)
class StoredRange:
    """Rows from row `offset` on of arrays in a file."""

    start: int
    size: int
    path: str
    arrays: Mapping[str, Stored]
    offset: int

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        needed = {
            column
            for place in layouts(numeric, tuple(self.arrays)).values()
            for column in place.columns
        }
        try:
            found = {
                name: stored.read(self.path, self.offset, self.size)
                for name, stored in self.arrays.items()
                if name in needed or name in keep or stored.dtype.names
            }
        except (OSError, PartError) as error:
            return unreadable(self.start, self.size, numeric, keep, error)
        return _block(self.start, self.size, found, numeric, keep)


@dataclass(frozen=True, slots=True)
class ArraysRange:
    """Rows that have come from a stream; they travel where the range goes."""

    start: int
    size: int
    arrays: Mapping[str, Array]

    def divided(self, rows: int) -> Iterator[Range]:
        for offset in range(0, self.size, rows):
            part = {name: array[offset : offset + rows] for name, array in self.arrays.items()}
            yield ArraysRange(self.start + offset, min(rows, self.size - offset), part)

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        return _block(self.start, self.size, self.arrays, numeric, keep)


class NpyPart:
    """One NPY file, or an array from standard input."""

    fixed = True

    def __init__(self, path: str) -> None:
        self._path = path
        with said():
            self._stream, packed = opened(path)
            try:
                self._array = header(self._stream)
            finally:
                if path != STDIN:
                    self._stream.close()
        if packed:
            raise PartError("it is compressed: an NPY file is read where it lies")
        if path != STDIN:
            self._array.verify(os.path.getsize(path))
        self.columns = self._array.dtype.names or ("",)
        self.kinds = kinds({"": self._array})
        self.rows: int = self._array.shape[0]

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        if self._path == STDIN:
            yield from arriving({"": self._array}, {"": self._stream}, rows, start)
            return
        for offset in range(0, self.rows, rows):
            size = min(rows, self.rows - offset)
            yield StoredRange(start + offset, size, self._path, {"": self._array}, offset)


def header(stream: IO[bytes], begin: int = 0) -> Stored:
    """What the head of an NPY file says, that begins at `begin` of the file that is read later.
    Raises PartError."""
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(stream)
    except (
        ValueError,
        tokenize.TokenError,
        RecursionError,
        MemoryError,
    ) as error:  # the last two of NumPy's parser
        raise PartError(
            "it is not NPY, or damaged: "
            f"{(str(error) or 'its header is nested too deeply').splitlines()[0]}"
        ) from None
    if dtype.hasobject:
        raise PartError("it holds Python objects, which are never read")
    if not shape:
        raise PartError("it holds a single value: its first axis must be the rows")
    if min(shape) < 0:
        raise PartError(f"it is damaged: it says that its shape is {shape}")
    if (
        shape[0] > (_EMPTY_ROWS if dtype.itemsize else 0)
        and not math.prod(shape[1:]) * dtype.itemsize
    ):
        raise PartError(f"its rows hold nothing: its shape is {shape}, of {dtype}")
    return Stored(
        dtype, shape, bool(fortran), begin + stream.tell() if stream.seekable() else begin
    )


def kinds(arrays: Mapping[str, Stored]) -> dict[str, str]:
    """The types of the columns, in words."""
    found = {}
    for name, stored in arrays.items():
        for field in stored.dtype.names or ():
            found[field] = str(stored.dtype[field])
        found[name] = str(stored.dtype)
    return found


def arriving(
    arrays: Mapping[str, Stored], streams: Mapping[str, IO[bytes]], rows: int, start: int
) -> Iterator[Range]:
    """Arrays that can only be read in order, a range of each at a time. Raises PartError."""
    if any(stored.fortran and len(stored.shape) > 1 for stored in arrays.values()):
        raise PartError(
            "its array lies column by column: save it in C order, or uncompressed in a file"
        )
    total = next(iter(arrays.values())).shape[0] if arrays else 0
    for offset in range(0, total, rows):
        size = min(rows, total - offset)
        found = {}
        for name, stored in arrays.items():
            length = size * math.prod(stored.shape[1:]) * stored.dtype.itemsize
            with said():
                data = _read(streams[name], length)
            if len(data) < length:
                raise PartError(
                    f"its data ends too early, within rows {offset} to {offset + size - 1}"
                )
            found[name] = np.frombuffer(data, stored.dtype).reshape(size, *stored.shape[1:])
        yield ArraysRange(start + offset, size, found)


def _read(stream: IO[bytes], length: int) -> bytes:
    """So many bytes, or what there is: a header may say more than memory holds."""
    chunks = []
    while length > 0 and (chunk := stream.read(min(length, CHUNK))):
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


# ---- columns -------------------------------------------------------------------------------------


def _block(
    start: int, size: int, arrays: Mapping[str, Array], numeric: Sequence[str], keep: Sequence[str]
) -> Block:
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        columns |= (
            {field: array[field] for field in array.dtype.names}
            if array.dtype.names
            else {name: array}
        )
    block = Block(start, size)
    where = layouts(numeric, tuple(columns))
    fill(
        block,
        where,
        {name: _cells(name, columns[name]) for place in where.values() for name in place.columns},
    )
    for name in keep:
        if name in columns and columns[name].dtype in _WIDEST:
            narrowed = _narrowed(name, columns[name])
            block.kept[name] = narrowed.values
            block.rejected |= narrowed.rejected
        elif name in columns:
            block.kept[name] = _kept(name, columns[name])
    return block


def _kept(name: str, array: Array) -> Array:
    """A column as writers take it: of this machine's byte order, with times in units that Arrow
    has, too."""
    dtype = array.dtype.newbyteorder("=")
    if dtype.kind in "Mm":
        unit = _UNITS[dtype.kind].get(np.datetime_data(dtype)[0])
        dtype = np.dtype(f"{dtype.kind}8[{unit}]") if unit else np.dtype("V")
    if dtype.kind == "V":
        raise GradcliError(
            Diagnostic("E005", f"column `{name}` holds {array.dtype}, which can't be kept")
        )
    return array.astype(dtype, copy=False)


def _cells(name: str, array: Array) -> Cells:
    kind = array.dtype.kind
    if kind == "b":
        return Cells(array)
    if kind == "u" and array.dtype.itemsize == 8 and (array > MAX_INT).any():
        large = array > MAX_INT
        rows = np.flatnonzero(large.reshape(len(array), -1).any(axis=1)).tolist()
        return Cells(
            np.where(large, 0, array).astype(np.int64), None, dict.fromkeys(rows, too_large(name))
        )
    if array.dtype in _WIDEST:
        return _narrowed(name, array)
    if kind not in "iufc":
        raise no_numbers(name, array.dtype)
    return Cells(
        array.astype(
            {"i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}[kind], copy=False
        )
    )


def _narrowed(name: str, array: Array) -> Cells:
    """Numbers wider than float64 as these; a row is rejected where one of them would be infinite,
    or 0."""
    with np.errstate(all="ignore"):
        values = array.astype(_WIDEST[array.dtype])
    rejected = {}
    for wide, narrow in (
        ((array.real, values.real), (array.imag, values.imag))
        if array.dtype.kind == "c"
        else ((array, values),)
    ):
        gone = ((np.isinf(narrow) & ~np.isinf(wide)) | ((narrow == 0) & (wide != 0))).reshape(
            len(array), -1
        )
        for row in np.flatnonzero(gone.any(axis=1)).tolist():
            number = wide.reshape(len(array), -1)[row][gone[row]][0]
            rejected[row] = (
                f"column `{name}`: {number!s} is too {'large' if abs(number) > 1 else 'small'} "
                "for a float64"
            )
    return Cells(values, None, rejected)
