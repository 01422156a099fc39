"""Text to syntax tree: the front door of parsing.

    parse(Source("<expr>", "x**2 + 1"))        # a syntax.Module
    read_source(Path("model.tg"))              # a Source, decoded and checked

Errors are raised as GradcliError, with what was meant where that can be guessed (`hints.py`,
`characters.py`).
"""

from __future__ import annotations

from pathlib import Path

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from ..platform.collector import collector_paused
from . import syntax
from .foreign import foreign_phrase
from .hints import explain_token
from .lalr import UnexpectedTokenError, drive
from .lexer import Lexer
from .statements import Builder

MAX_BYTES = 10_000_000
# Errors that a phrase of another language may be the reason for: of characters, numbers, brackets.
_OF_THE_TEXT = frozenset(("E102", "E104", "E110", "E111", "E113"))


def parse(source: Source) -> syntax.Module:
    """The syntax tree of a source."""
    if len(source.text) > MAX_BYTES:
        raise _too_large(source.name)
    lexer = Lexer(source)
    with collector_paused(stays=True):
        try:
            tree: syntax.Module = drive(lexer, Builder(source))
        except UnexpectedTokenError as unexpected:
            raise GradcliError(explain_token(unexpected, lexer)) from None
        except GradcliError as error:
            (found, *_) = error.diagnostics
            if found.span is None or found.code not in _OF_THE_TEXT:
                raise
            phrase = foreign_phrase(source, found.span.start)
            raise GradcliError(phrase or found) from None
    return tree


def read_source(path: Path, name: str = "") -> Source:
    """The source in a file, under `name` or else its path. An unreadable file raises OSError."""
    with path.open("rb") as file:
        return decode(name or str(path), file.read(MAX_BYTES + 1))


def decode(name: str, data: bytes) -> Source:
    """A source from its bytes: UTF-8, with or without a byte-order mark."""
    if len(data) > MAX_BYTES:
        raise _too_large(name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        source = Source(name, data.decode("utf-8", "replace"))
        at = len(data[: error.start].decode("utf-8"))
        raise GradcliError(
            Diagnostic(
                "E100",
                "this text is not UTF-8",
                Span(source, at, at + 1),
                label="a file in UTF-16 begins like this"
                if data.startswith((b"\xff\xfe", b"\xfe\xff"))
                else f"the byte 0x{data[error.start]:02X} doesn't fit",
                help="save the file as UTF-8",
            )
        ) from None


def _too_large(name: str) -> GradcliError:
    return GradcliError(
        Diagnostic(
            "E401", f"{name} is larger than {MAX_BYTES // 1_000_000} MB, the limit for a program"
        )
    )
