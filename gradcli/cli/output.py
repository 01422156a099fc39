"""Writing an answer: to standard output, or to a file that is there whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..diagnostics import Diagnostic, GradcliError, printable_lines
from ..safe_files import replace_file


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
        raise GradcliError(
            Diagnostic("E006", f"cannot write `{path}`: {error.strerror}", help=_advice(path))
        ) from None


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


def _advice(path: str) -> str:
    folder = os.path.dirname(path) or "."
    return "" if os.path.isdir(folder) else f"there is no folder `{folder}`: make it first"
