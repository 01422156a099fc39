"""Who gets the signals of a process that has threads."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_from_threads() -> Iterator[None]:
    """Threads that are started meanwhile, and those that they start, leave signals to this one. The
    system gives a signal to any thread that takes it; Python acts on it only when the main thread
    wakes, which may be waiting for something for long."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGALRM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
