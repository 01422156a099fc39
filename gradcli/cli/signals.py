"""Who gets the signals of a process that has threads, and what Ctrl-C ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SOON = 0.01  # seconds


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


@contextmanager
def sure_interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt in what runs meanwhile. It waits where Python wouldn't only
    raise it: an exception in a `__del__` is dropped; and after one in a text that `eval` or `exec`
    runs, as for each new NamedTuple, Python ends by the signal, even if the exception was caught.
    Where Python drops it nevertheless, as in what a weak reference or the garbage collector calls,
    it is raised once more."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        if _in_text(frame) or _finalizes(frame):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            raise KeyboardInterrupt

    def dropped(told: sys.UnraisableHookArgs) -> None:
        if issubclass(told.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            hook(told)

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    before = {n: signal.signal(n, interrupt) for n in (signal.SIGALRM, signal.SIGINT)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_text(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename == "<string>"


def _finalizes(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
