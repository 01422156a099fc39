"""Where written bytes go: a partial file that can be taken up again, or standard output."""

from __future__ import annotations

import codecs
import os
import sys
import threading
import zlib
from collections.abc import Sequence
from io import FileIO
from typing import IO, BinaryIO, Protocol

from ...diagnostics import printable_lines
from ...safe_files import plain_file

STDOUT = "-"
_READ = 2**20
FLUSHED = (
    2**25
)  # bytes after which the disk is given something to do, or the end would wait for all of it


Mark = tuple[
    int, int
]  # the bytes that were written so far, and their checksum (CRC-32); JSON makes a list of it


class Output(Protocol):
    """Takes bytes. What `write` was given has left the process when it returns."""

    position: int

    @property
    def mark(self) -> Mark: ...

    def write(self, data: bytes | memoryview) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class DamagedError(Exception):
    """A partial file isn't what was written; says which, and what is wrong with it."""


class PartialFile:
    """A file that grows; opened at a mark, it has lost what came after it, and is what it was up to
    there.

    What was written is compared with its checksum when the file is taken up, and once more before
    it is finished: either raises DamagedError. `finish` may write the first `head` bytes, which are
    zeros until then.
    """

    def __init__(self, path: str, resume_at: Sequence[int] | None, head: int = 0) -> None:
        self.path, self._head = path, head
        try:
            mode = "w+" if resume_at is None else "r+"
            self.file = FileIO(path, mode, opener=plain_file)
        except FileNotFoundError:
            if resume_at is None:
                raise
            raise DamagedError(f"there is no `{os.path.basename(path)}`") from None
        self.position, self._check = (head, 0) if resume_at is None else resume_at[:2]
        try:
            if resume_at is not None:
                self._verify()
            self.file.truncate(self.position)
        except BaseException:
            self.file.close()
            raise
        self.file.seek(self.position)
        self._behind = 0  # bytes that nobody has asked the system to bring to the disk
        self._flusher: threading.Thread | None = None
        self._failed: OSError | None = None

    @property
    def mark(self) -> Mark:
        """Where the file ends now: another one can be taken up there."""
        return self.position, self._check

    def _verify(self) -> None:
        """Raises DamagedError where the file isn't what was written."""
        name = os.path.basename(self.path)
        check, at = 0, self._head
        self.file.seek(at)
        buffer = memoryview(bytearray(_READ))
        while at < self.position:
            data = buffer[: self.position - at]
            if not (size := self.file.readinto(data)):
                raise DamagedError(f"`{name}` is shorter than it was")
            check, at = zlib.crc32(data[:size], check), at + size
        if check != self._check:
            raise DamagedError(f"`{name}` has other bytes than were written")

    def write(self, data: bytes | memoryview) -> None:
        write_all(self.file, data)
        self._check = zlib.crc32(data, self._check)
        self.position += len(data)
        self._behind += len(data)
        if self._behind >= FLUSHED and not (self._flusher and self._flusher.is_alive()):
            self._behind = 0
            self._flusher = threading.Thread(target=self._flush, daemon=True)
            self._flusher.start()

    def _flush(self) -> None:
        try:
            os.fdatasync(self.file.fileno())
        except OSError as error:
            self._failed = error  # the system says it once only

    def finish(self, head: bytes = b"") -> None:
        if self._flusher:
            self._flusher.join()
        if self._failed:
            raise self._failed
        self._verify()
        self.file.seek(0)
        write_all(self.file, head)
        os.fsync(self.file.fileno())
        self.file.close()

    def close(self) -> None:
        if self._flusher:
            self._flusher.join()
        self.file.close()


class StandardOutput:
    """Standard output, past any buffer of Python's, which would fail again at the end with what it
    couldn't write. Raises BrokenPipeError where nobody reads it."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self.position = 0
        self._file: BinaryIO = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        self._decoder = (
            codecs.getincrementaldecoder("utf-8")("replace") if sys.stdout.isatty() else None
        )

    @property
    def mark(self) -> Mark:
        return self.position, 0

    def write(self, data: bytes | memoryview) -> None:
        """Data as it is, but to a terminal, where a cell must not drive it."""
        write_all(
            self._file,
            data if self._decoder is None else printable_lines(self._decoder.decode(data)).encode(),
        )
        self.position += len(data)

    def finish(self) -> None:
        """All has been written; standard output stays open."""

    close = finish


def output(path: str, resume_at: Sequence[int] | None) -> Output:
    """The partial file, or standard output for "-"."""
    return StandardOutput() if path == STDOUT else PartialFile(path, resume_at)


def write_all(file: IO[bytes], data: bytes | memoryview) -> None:
    """Writes all of it: one call may take only a part, just before a disk is full."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


class Sink:
    """An output as pyarrow writes to it: a file object, of which the first `skip` bytes are passed
    over."""

    closed = False

    def __init__(self, to: Output, skip: int = 0) -> None:
        self._to, self._skip = to, skip

    def write(self, data: bytes | memoryview) -> int:
        passed = min(self._skip, len(data))
        self._skip -= passed
        if passed < len(data):
            self._to.write(memoryview(data)[passed:])
        return len(data)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        """Each write has gone out already."""

    def close(self) -> None:
        self.closed = True
