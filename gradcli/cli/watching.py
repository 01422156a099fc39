"""`--watch`: runs a command again whenever one of its programs changes, or what these import.

Each run is a process of its own, so that whatever ends it, an error, a limit or a crash, doesn't
end the watch, and a run that is still busy is ended when its program changes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from stat import S_ISREG
from types import FrameType
from typing import NamedTuple

from ..diagnostics import Diagnostic, GradcliError, printable
from ..platform.search_path import python_that_calls
from . import CLOSED_PIPE
from .programs import programs
from .running import given_arguments
from .terminal import Terminal

POLL = 0.1  # seconds between two looks at the files
GRACE = 5.0  # seconds that a run has to end by itself


class Stamp(NamedTuple):
    """What tells whether a file was written again."""

    written: int
    size: int
    number: int


State = dict[str, Stamp | None]


def watch(files: list[str] | None, expr: str | None, terminal: Terminal) -> int:
    """Runs this command line without `--watch`, now and after every change, until Ctrl-C. Raises
    GradcliError (E001) where there is no file to watch."""
    if expr is not None or not files or "-" in files:
        help = "name a FILE, or a folder"
        raise GradcliError(Diagnostic("E001", "--watch needs files to watch", help=help))
    words = [word for word in given_arguments() if word != "--watch"]
    with _noted_signals() as noted:
        state: State | None = _state(files)
        while state is not None:
            process = subprocess.Popen(
                [*python_that_calls(__package__, "main"), *words],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            state = _changed(files, state, process, noted, terminal)
            _end(process)
    return 128 + noted[0]


def _changed(
    files: list[str],
    before: State,
    process: subprocess.Popen[bytes],
    noted: list[int],
    terminal: Terminal,
) -> State | None:
    """Waits until the files are others than before, and have come to rest; says when the run is
    done, and what changed. None as soon as a signal is noted; that a run finds its output closed
    counts as one."""
    is_told = False
    while not noted and (after := _state(files)) == before:
        if process.poll() == CLOSED_PIPE:
            noted.append(CLOSED_PIPE - 128)
        if not is_told and process.poll() is not None:
            is_told = True
            n = len(before)
            terminal.summary(f"watching {n} file{'s' * (n != 1)}; Ctrl-C ends")
        time.sleep(POLL)
    rest: State = {}
    while not noted and after != rest:  # whoever writes a file may not be done yet
        rest = after
        time.sleep(POLL)
        after = _state(files)
    if noted:
        return None
    terminal.summary(f"changed: {', '.join(map(printable, _differing(before, after)))}")
    return after


def _differing(before: State, after: State) -> list[str]:
    """The files that changed, or else those that came and went. With a change there may be other
    imports, which didn't change themselves."""
    changed = [name for name in after if name in before and after[name] != before[name]]
    return changed or [*(after.keys() ^ before.keys())]


def _state(files: list[str]) -> State:
    """The files of the programs and of what they import, as they are now."""
    found: State = {}
    waiting: list[str] = []
    for file in files:
        try:
            waiting += programs([file], None)
        except GradcliError:  # a folder that has no program at the moment
            waiting.append(file)
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = stamp = _stamp(name)
            waiting += _imported(name, stamp) if stamp is not None else []
    return found


def _stamp(name: str) -> Stamp | None:
    """When a file was written, its size, and which one it is; None where there is none."""
    try:
        facts = os.stat(name)
    except (OSError, ValueError):
        return None
    return Stamp(facts.st_mtime_ns, facts.st_size, facts.st_ino) if S_ISREG(facts.st_mode) else None


@lru_cache(maxsize=10_000)
def _imported(name: str, stamp: Stamp) -> list[str]:
    """The files that a file imports; it is read once for each of its stamps."""
    from ..tasks.programs import imported_files

    try:
        return imported_files(name)
    except GradcliError:  # it can't be read: the run says why
        return []


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a run with all that it started: as Ctrl-C does, and by force where that isn't enough."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """The numbers of the signals that ask this process to end, as they come. None interrupts it, so
    that at any moment it knows of the run that it has to end: which is in a session of its own, and
    isn't told."""
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)

    found = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    asked = [number for number in found if number is not None]
    before = {n: signal.getsignal(n) for n in asked if signal.getsignal(n) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
