"""Programs from where users keep them: files, standard input, the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, GradcliError, Source

if TYPE_CHECKING:
    from ..lang.program import Program

_ENOUGH = 10_000_004  # bytes: longer sources are refused, so there is no point in reading more of /dev/zero


def read_source(path: str) -> Source:
    """The source in a file, or on standard input for `-`. Raises GradcliError (E002; E100 for bytes that aren't text)."""
    from ..lang.parser import decode

    name = "<stdin>" if path == "-" else path
    try:
        if path == "-":
            return decode(name, sys.stdin.buffer.read(_ENOUGH))
        with open(path, "rb") as file:
            return decode(name, file.read(_ENOUGH))
    except OSError as error:
        raise GradcliError(Diagnostic("E002", f"cannot read `{name}`: {error.strerror}")) from None
    except ValueError as error:  # a null byte in the name
        raise GradcliError(Diagnostic("E002", f"cannot read {name!r}: {error}")) from None


def parse_tree(source: Source) -> Any:
    """The syntax tree of a source. Raises GradcliError."""
    from ..lang.parser import parse

    return parse(source)


def parse_program(source: Source) -> Program:
    """The resolved program of a source. Raises GradcliError with everything that is wrong with it."""
    from ..lang.resolve import resolve

    return resolve(parse_tree(source))
