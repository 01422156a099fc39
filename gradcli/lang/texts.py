"""What stands in a text with values, `f"x = {x:.3f}"`: characters, and fields in braces.

A field is an expression of the language, and perhaps how it is written, after a colon. The
expression is parsed with the program, so no text from outside is ever taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from .lexer import Token
from .literals import string_value

# Of Python's: where a number stands, its sign, width, digits and notation.
_FORMAT = re.compile(r"[<>^]?[-+ ]?0?[0-9]{0,3}(?:\.[0-9]{1,2})?[deEfFgG%]?")
_PART = re.compile(r"\{\{|\}\}|\{|\}|(?:[^{}\\]|\\.)+")


class Field(NamedTuple):
    """A field: where its expression starts and ends, and its format, "" for none."""

    start: int
    end: int
    format: str


def parts_of(token: Token, source: Source) -> Iterator[str | Field]:
    """The parts of a text in order. Raises GradcliError (E103) for a field that is none."""
    _, _, start, end = token
    at = start + 2
    while at < end - 1:
        match = _PART.match(source.text, at, end - 1)
        assert match is not None
        part, at = match[0], match.end()
        if part == "{":
            field = _field(source, at, end - 1)
            yield field
            at = field.end + (len(field.format) + 1 if field.format else 0) + 1
        elif part == "}":
            raise _error("this `}` closes nothing", source, at - 1, at, "a brace is written `}}`")
        elif part in ("{{", "}}"):
            yield part[0]
        else:
            quoted = ("STRING", f'"{part}"', match.start() - 1, at + 1)
            yield string_value(quoted, source)


def _field(source: Source, start: int, end: int) -> Field:
    """The field whose expression starts at an offset."""
    depth, colon = 0, -1
    for k in range(start, end):
        c = source.text[k]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == ":" and depth == 0 and colon < 0:
            colon = k
        elif c == "{":
            break
        elif c == "}":
            stop = k if colon < 0 else colon
            if not source.text[start:stop].strip():
                help = "name a value, or write `{{}}` for the braces themselves"
                raise _error("this field is empty", source, start - 1, k + 1, help)
            return Field(start, stop, _format(source, colon + 1, k) if colon >= 0 else "")
    raise _error("this field is never closed", source, start - 1, start, "a brace is written `{{`")


def _format(source: Source, start: int, end: int) -> str:
    format = source.text[start:end]
    if not format or not _FORMAT.fullmatch(format):
        help = "such as `.3f`, `.2e`, `8.3f`, `+d` or `.1%`"
        at = max(end, start + 1)
        raise _error(f"`{format}` is no format for a value", source, start, at, help)
    return format


def _error(message: str, source: Source, start: int, end: int, help: str) -> GradcliError:
    return GradcliError(Diagnostic("E103", message, Span(source, start, end), help=help))
