"""Where written bytes go: a partial file that can be taken up again, or standard output."""

from __future__ import annotations

import codecs
import os
import sys
import threading
from typing import IO, BinaryIO, Protocol

from ...diagnostics import Diagnostic, GradcliError, printable_lines
from ...safe_files import plain_file

STDOUT = "-"
FLUSHED = 2**25  # bytes after which the disk is given something to do, or the end would wait for all of it


class Output(Protocol):
    """Takes bytes. What `write` was given has left the process when it returns."""

    position: int

    def write(self, data: bytes | memoryview) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class PartialFile:
    """A file that grows; opened at a position, it has lost what came after it."""

    def __init__(self, path: str, resume_at: int | None) -> None:
        self.path = path
        mode = "wb" if resume_at is None else "r+b"
        self.file: IO[bytes] = open(path, mode, buffering=0, opener=plain_file)  # noqa: SIM115 -- finish closes it
        self.position = resume_at or 0
        found = os.fstat(self.file.fileno()).st_size
        if found < self.position:
            self.file.close()
            message = f"{path}: it has {found} bytes, {self.position} were written: it can't be gone on with"
            raise GradcliError(Diagnostic("E006", message, help="leave --resume out to begin anew"))
        self.file.truncate(self.position)
        self.file.seek(self.position)
        self._behind = 0  # bytes that nobody has asked the system to bring to the disk
        self._flusher: threading.Thread | None = None
        self._failed: OSError | None = None

    def write(self, data: bytes | memoryview) -> None:
        _write_all(self.file, data)
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

    def finish(self) -> None:
        if self._flusher:
            self._flusher.join()
        if self._failed:
            raise self._failed
        os.fsync(self.file.fileno())
        self.file.close()

    def close(self) -> None:
        if self._flusher:
            self._flusher.join()
        self.file.close()


class StandardOutput:
    """Standard output, past any buffer of Python's, which would fail again at the end with what it couldn't write. Raises
    BrokenPipeError where nobody reads it."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self.position = 0
        self._file: BinaryIO = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace") if sys.stdout.isatty() else None

    def write(self, data: bytes | memoryview) -> None:
        """Data as it is, but to a terminal, where a cell must not drive it."""
        _write_all(self._file, data if self._decoder is None else printable_lines(self._decoder.decode(data)).encode())
        self.position += len(data)

    def finish(self) -> None:
        """All has been written; standard output stays open."""

    close = finish


def output(path: str, resume_at: int | None) -> Output:
    """The partial file, or standard output for "-"."""
    return StandardOutput() if path == STDOUT else PartialFile(path, resume_at)


def _write_all(file: IO[bytes], data: bytes | memoryview) -> None:
    """Writes all of it: one call may take only a part, just before a disk is full."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


class Sink:
    """An output as pyarrow writes to it: a file object, of which the first `skip` bytes are passed over."""

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
