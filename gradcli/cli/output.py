"""Writing an answer: to standard output, or to a file that is there whole or not at all."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

from ..diagnostics import Diagnostic, GradcliError, printable_lines
from ..safe_files import plain_file

LONG = 3600.0  # seconds; no answer takes as long to write


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
            _replace(Path(os.path.realpath(path)), data)
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


def _replace(target: Path, data: bytes) -> None:
    """Writes beside the target and renames: readers see the old file or the new one, and a full
    disk leaves the old."""
    if target.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    _remove_left(target)
    beside = target.with_name(f".{target.name}.{os.urandom(8).hex()}.partial")
    try:
        with open(beside, "xb", opener=plain_file) as file:
            file.write(data)
        if target.exists():
            os.chmod(beside, target.stat().st_mode)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _remove_left(target: Path) -> None:
    """Removes what is left of writes of this file whose process was killed, and so long ago that
    none still goes on."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.partial")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if (
                name.fullmatch(entry.name)
                and time.time() - entry.stat(follow_symlinks=False).st_mtime > LONG
            ):
                os.unlink(entry.path)


def _advice(path: str) -> str:
    folder = os.path.dirname(path) or "."
    return "" if os.path.isdir(folder) else f"there is no folder `{folder}`: make it first"
