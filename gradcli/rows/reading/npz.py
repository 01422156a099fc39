"""NPZ: named arrays, rows first, all of one length; read where they lie, or in order where they are
compressed."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack

from ..blocks import PartError, Range, verify_distinct
from .npy import Stored, StoredRange, arriving, header, kinds
from .streams import said

_ENCRYPTED = 1
_LOCAL = 30  # bytes of the header that a member has in the archive, before its name


class NpzPart:
    """One NPZ file."""

    fixed = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._arrays: dict[str, Stored] = {}
        self._stored = True
        with said(), _archive(path) as archive, open(path, "rb") as raw:
            verify_distinct(name.removesuffix(".npy") for name in archive.namelist())
            for info in archive.infolist():
                if not info.filename.endswith(".npy"):
                    continue
                raw.seek(info.header_offset)
                local = raw.read(_LOCAL)
                begin = (
                    info.header_offset + _LOCAL + sum(struct.unpack("<HH", local[26:30]))
                    if len(local) == _LOCAL
                    else 0
                )
                name = info.filename.removesuffix(".npy")
                if info.flag_bits & _ENCRYPTED:
                    raise PartError(f"its array `{name}` is encrypted")
                with archive.open(info) as member:
                    try:
                        self._arrays[name] = header(member, begin)
                        self._arrays[name].verify(begin + info.file_size)
                    except PartError as error:
                        raise PartError(f"its array `{name}` can't be used: {error}") from None
                if self._arrays[name].dtype.names:
                    raise PartError(
                        f"its array `{name}` has fields: save these as arrays, or it alone as an "
                        "NPY file"
                    )
                self._stored = self._stored and info.compress_type == zipfile.ZIP_STORED
        if not self._arrays:
            raise PartError("it has no arrays")
        lengths = {name: stored.shape[0] for name, stored in self._arrays.items()}
        if len(set(lengths.values())) > 1:
            said_so = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
            raise PartError(f"its arrays differ in length: {said_so}")
        self.columns = tuple(self._arrays)
        self.kinds = kinds(self._arrays)
        self.rows: int = next(iter(lengths.values()))

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        self._verify()
        if not self._stored:
            with said(), _archive(self._path) as archive, ExitStack() as stack:
                streams = {
                    name: stack.enter_context(archive.open(f"{name}.npy")) for name in self._arrays
                }
                for stream in streams.values():
                    header(stream)
                yield from arriving(self._arrays, streams, rows, start)
            return
        for offset in range(0, self.rows, rows):
            size = min(rows, self.rows - offset)
            yield StoredRange(start + offset, size, self._path, self._arrays, offset)

    def _verify(self) -> None:
        """Raises PartError where an array isn't what was written: its checksum is of all of it, and
        ranges are parts."""
        with said(), _archive(self._path) as archive:
            if (damaged := archive.testzip()) is not None:
                raise PartError(
                    f"its array `{damaged.removesuffix('.npy')}` is damaged: its checksum is "
                    "another one"
                )


def _archive(path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise PartError(f"it is not NPZ, or damaged: {error}") from None
