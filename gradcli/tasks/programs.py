"""Programs from where users keep them: files, standard input, the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, GradcliError, Source, Span

if TYPE_CHECKING:
    from ..lang.program import Program

_MAX_BYTES = 10_000_000  # the parser refuses longer sources; there is no point in reading more of /dev/zero


def read_source(path: str) -> Source:
    """The source in a file, or on standard input for `-`. Raises GradcliError (E002, or E101 for bytes that aren't text)."""
    name = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(_MAX_BYTES + 4)
        else:
            with open(path, "rb") as file:
                data = file.read(_MAX_BYTES + 4)
    except OSError as error:
        raise GradcliError(Diagnostic("E002", f"cannot read `{name}`: {error.strerror}")) from None
    except ValueError as error:  # a null byte in the name
        raise GradcliError(Diagnostic("E002", f"cannot read {name!r}: {error}")) from None
    return _decode(name, data)


def _decode(name: str, data: bytes) -> Source:
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        if len(data) > _MAX_BYTES:  # the cut fell into a character; the parser says that the source is too long
            return Source(name, data.decode("utf-8", "replace"))
        readable = data[: error.start].decode("utf-8")
        source = Source(name, readable + data[error.start :].decode("utf-8", "replace"))
        span = Span(source, len(readable), len(readable) + 1)
        found = f"byte {data[error.start]:#04x} is not UTF-8"
        raise GradcliError(Diagnostic("E101", "the source is not text", span, found, "save the file as UTF-8")) from None


def parse_program(source: Source) -> Program:
    """The resolved program of a source. Raises GradcliError with everything that is wrong with it."""
    from ..lang import load

    return load(source)


def parse_tree(source: Source) -> Any:
    """The syntax tree of a source, as the parser sees it. Raises GradcliError."""
    from ..lang import parse

    return parse(source)
