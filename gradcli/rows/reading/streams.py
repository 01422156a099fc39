"""Bytes on their way in: files and standard input, plain, gzip or zstd, in chunks."""

from __future__ import annotations

import io
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import IO, Any, cast

from ..blocks import PartError
from ..formats import STDIN
from ..needs import arrow_for

CHUNK = 4 << 20
_LOOK = 1 << 16
_GZIP = b"\x1f\x8b"
_ZSTD = re.compile(
    rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"
)  # of a frame, or of one that is passed over


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been read already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._head[: len(buffer)] or _some(self._rest, len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _some(stream: IO[bytes], size: int) -> bytes:
    """The next bytes of a stream, as many as are there without waiting for all; b"" at its end."""
    read1 = getattr(stream, "read1", stream.read)
    return cast(bytes, read1(size))


def rejoined(head: bytes, rest: IO[bytes]) -> IO[bytes]:
    """A stream with the bytes that have been read from it, as if they hadn't."""
    return io.BufferedReader(_Rejoined(head, rest), CHUNK)


@contextmanager
def said() -> Iterator[None]:
    """Turns what reading a damaged or missing file raises into a PartError."""
    try:
        yield
    except EOFError:
        raise PartError("its compressed data ends too early") from None
    except (OSError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PartError(f"cannot read it: {text}") from None


_looked: list[bytes] = []  # what `look` has read of standard input


def look(path: str) -> bytes:
    """The first bytes of a file, or of standard input, which can still be read: up to the end of
    the first line, if that isn't far. They are plain, but for what zstd has packed. Raises
    PartError."""
    with said():
        if path != STDIN:
            with open(path, "rb") as file:
                head = file.read(_LOOK)
        else:
            _looked.clear()
            while b"\n" not in (head := b"".join(_looked)) and len(head) < _LOOK:
                if not (more := _some(sys.stdin.buffer, _LOOK - len(head))):
                    break
                _looked.append(more)
        return zlib.decompressobj(31).decompress(head) if head.startswith(_GZIP) else head


def opened(path: str) -> tuple[IO[bytes], bool]:
    """A file, or standard input, as its plain bytes, and whether they have to be decompressed.
    Raises PartError."""
    with said():
        if path == STDIN:
            head = b"".join(_looked)
            _looked.clear()
            head += sys.stdin.buffer.read(max(0, 4 - len(head)))
            source: Any = rejoined(head, sys.stdin.buffer)
        else:
            with open(path, "rb") as file:
                head = file.read(4)
            source = path
        if head.startswith(_GZIP):
            import gzip

            return cast(IO[bytes], gzip.open(source)), True
        if _ZSTD.match(head):
            with arrow_for("zstd"):
                import pyarrow as pa
            raw = pa.OSFile(path) if path != STDIN else pa.PythonFile(source, "r")
            return pa.CompressedInputStream(raw, "zstd"), True
        return open(path, "rb") if path != STDIN else source, False


class Feed:
    """The plain bytes of a file, as often as they are asked for, or of standard input, once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._head = b""
        stream, compressed = opened(path)
        self.plain = not compressed and path != STDIN
        self._stdin = stream if path == STDIN else None
        if self._stdin is None:
            stream.close()

    def head(self, size: int) -> bytes:
        """The first `size` bytes, or all where there are fewer."""
        with said():
            if self._stdin is not None:
                self._head += _upto(self._stdin, size - len(self._head))
                return self._head
            with closing(opened(self.path)[0]) as stream:
                return _upto(stream, size)

    def chunks(self, skip: int = 0) -> Iterator[bytes]:
        """All but the first `skip` bytes, which must have been asked for as the head."""
        with said():
            if self._stdin is not None:
                yield self._head[skip:]
                self._head = b""
                yield from _rest(self._stdin)
            else:
                with closing(opened(self.path)[0]) as stream:
                    stream.read(skip)
                    yield from _rest(stream)


def _upto(stream: IO[bytes], size: int) -> bytes:
    """The next `size` bytes, or all where there are fewer."""
    found = b""
    while len(found) < size and (more := stream.read(size - len(found))):
        found += more
    return found


def _rest(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := _some(stream, CHUNK):
        yield chunk
