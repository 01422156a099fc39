"""Threads that compute beside the first of the process, and whether any of them still does."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from time import monotonic
from weakref import WeakSet

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
