"""Writing an answer: to standard output, or to a file that is there whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ..diagnostics import Diagnostic, GradcliError, printable_lines
from ..safe_files import replace_file
from .endings import ENDINGS, ending_of
from .standard_output import printing


def format_of(path: str | None, given: str | None, formats: Iterable[str]) -> str:
    """The format of an answer: the one that was asked for, or what the ending of the file says, or
    else text. Raises GradcliError (E001) for an ending of a format that the command doesn't
    write."""
    if given is not None or path in (None, "-"):
        return given or "text"
    ending = ending_of(path or "")
    format = ENDINGS.get(ending, "text")
    if format not in formats:
        known = " ".join(known for known, name in ENDINGS.items() if name in formats)
        message = f"`{path}`: this command writes no {ending}"
        help = f"the endings are {known}; --format decides for any name"
        raise GradcliError(Diagnostic("E001", message, help=help))
    return format


def write(
    answer: str | bytes, path: str | None, color: bool = False, commands: bool = False
) -> None:
    """Writes `answer` to the file `path`, or to standard output where it is None or `-`. Of text
    everything is made printable, but for the colours that it has with `color`, and the commands to
    a build service with `commands`.

    Raises GradcliError (E006) where the file can't be written; nothing is left behind then.
    """
    if isinstance(answer, str):
        answer = printable_lines(answer, color, commands)
    if path is None or path == "-":
        with printing():
            if isinstance(answer, bytes):
                sys.stdout.buffer.write(answer)
            else:
                sys.stdout.write(answer)
            sys.stdout.flush()
        return
    data = answer if isinstance(answer, bytes) else answer.encode("utf-8", "backslashreplace")
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            Path(path).write_bytes(data)  # a pipe or a device has no name to swap
        else:
            replace_file(os.path.realpath(path), data)
    except OSError as error:
        raise GradcliError(_refused(f"`{path}`", error, _advice(path))) from None


def verify_writable(path: str) -> None:
    """Raises GradcliError (E006) where `write` would: for answers that take long, before they are
    computed."""
    folder = os.path.dirname(os.path.realpath(path))
    wrong = (path != "-") and (
        "it is a folder"
        if os.path.isdir(path)
        else os.strerror(2)
        if not os.path.isdir(folder)
        else ""
    )
    if wrong or not (path == "-" or os.access(path if os.path.exists(path) else folder, os.W_OK)):
        raise GradcliError(
            Diagnostic(
                "E006", f"cannot write `{path}`: {wrong or os.strerror(13)}", help=_advice(path)
            )
        )


def _refused(name: str, error: OSError, help: str = "") -> Diagnostic:
    return Diagnostic("E006", f"cannot write {name}: {error.strerror}", help=help)


def _advice(path: str) -> str:
    folder = os.path.dirname(path) or "."
    return "" if os.path.isdir(folder) else f"there is no folder `{folder}`: make it first"
