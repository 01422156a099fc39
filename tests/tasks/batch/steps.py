"""Changes to the file system that a process makes, counted: it can be killed at any of them.

A step is one call that changes something: a file opened for writing, written, cut or brought to the
disk; one renamed, removed or made accessible; a folder made or removed. Of forks and workers, which
change nothing there, no steps are counted.
"""

from __future__ import annotations

import builtins
import io
import itertools
import os
import re
import shutil
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

WHEN = ("before", "amid", "after")
LOG = "steps"  # the file that names each step when it begins
_CHANGES = [
    (os, name)
    for name in (
        "replace",
        "rename",
        "unlink",
        "remove",
        "rmdir",
        "mkdir",
        "chmod",
        "fsync",
        "fdatasync",
        "link",
    )
]
_CHANGES += [(os, "truncate"), (os, "ftruncate"), (os, "pwrite"), (shutil, "copyfile")]


class Death(NamedTuple):
    """Before the step with this number, after it, or amid it: half of what it writes is written.
    None at -1."""

    step: int = -1
    when: str = "before"


def watch(death: Death) -> None:
    """Counts the steps of this process from now on, and kills it at one of them."""
    steps = itertools.count()
    process = os.getpid()
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)

    def step(name: str, change: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        if os.getpid() != process:
            return change()
        is_here = next(steps) == death.step
        os.write(log, f"{name}\n".encode())
        if is_here and death.when == "before":
            _die()
        if is_here and death.when == "amid" and half is not None:
            half()
            _die()
        try:
            return change()
        finally:  # also where it fails, as making a folder does that is there
            if is_here:
                _die()

    class Watched(io.FileIO):
        def write(self, data: Any, /) -> int:
            view, write = memoryview(data).cast("B"), super().write
            return int(step("write", lambda: write(view), lambda: write(view[: len(view) // 2])))

        def truncate(self, size: int | None = None, /) -> int:
            cut = super().truncate
            return int(step("truncate", lambda: cut(size)))

    def opened(
        file: Any, mode: str = "r", buffering: int = -1, *text: Any, opener: Any = None, **more: Any
    ) -> Any:
        if isinstance(file, int) or not set(mode) & set("wax+"):
            return plain_open(file, mode, buffering, *text, opener=opener, **more)
        name = re.sub("[0-9a-f]{16}", "*", os.path.basename(file))  # drawn by lot
        raw = step(
            f"open {name}",
            lambda: Watched(file, mode.replace("b", "").replace("t", ""), opener=opener),
        )
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *text, **more)

    def watched(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: step(name, lambda: change(*arguments, **options))

    plain_open = io.open
    builtins.open = io.open = opened
    for owner, name in _CHANGES:
        setattr(owner, name, watched(name, getattr(owner, name)))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
