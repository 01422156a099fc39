"""Threads that compute beside the first of the process, and whether any of them still does."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import NoReturn
from weakref import WeakSet

SOON = 0.1  # seconds that threads without more work may take to end

_started: WeakSet[Thread] = WeakSet()


def start(work: Callable[[], object]) -> None:
    """Starts a thread that does some work. It is a daemon: an endless loop in it must not keep the
    process from ending."""
    thread = Thread(target=work, daemon=True)
    _started.add(thread)
    thread.start()


def all_end(seconds: float) -> bool:
    """Whether all threads that were started have ended, or do so within some seconds. A fork of
    this process has none of them, but the locks that they hold, which nobody would release there.
    """
    deadline = monotonic() + seconds
    for thread in list(_started):
        thread.join(max(0.0, deadline - monotonic()))
    return not any(thread.is_alive() for thread in list(_started))


def end_process(code: int) -> NoReturn:
    """Ends the process with a code. Where a thread still computes, as after Ctrl-C, no library
    takes itself apart: LLVM, if it compiles meanwhile, would abort the process."""
    if all_end(SOON):
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
