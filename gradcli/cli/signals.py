"""Who gets the signals of a process that has threads, and what Ctrl-C ends."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
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
    """Ctrl-C raises KeyboardInterrupt in what runs meanwhile. It comes again a little later where
    Python wouldn't only raise it: an exception in a `__del__` is dropped, and so is one in what a
    weak reference or the garbage collector calls. After one in a text that `eval` or `exec` runs,
    as for each new NamedTuple, Python ends by the signal, even where the exception was caught."""
    if sys.platform == "win32":
        yield
        return

    outside = sys._getframe(2)  # who asks: that its callers may be a text is nothing new

    def interrupt(number: int, frame: FrameType | None) -> None:
        inside = takewhile(lambda f: f is not outside, _frames(frame))
        if any(_is_text(f) or f.f_code.co_name == "__del__" for f in inside):
            _come_again()
        else:
            raise KeyboardInterrupt

    def dropped(told: sys.UnraisableHookArgs) -> None:
        if issubclass(told.exc_type, KeyboardInterrupt):
            _come_again()
        else:
            hook(told)

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, before)


def _come_again() -> None:
    """Sends the main thread the signal of Ctrl-C a little later. A timer would be in the way of
    --timeout; and a thread of `threading` takes locks, which the main thread may hold."""
    main = threading.main_thread().ident
    assert main is not None

    def send() -> None:
        time.sleep(SOON)
        signal.pthread_kill(main, signal.SIGINT)

    with kept_from_threads():
        _thread.start_new_thread(send, ())


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_text(frame: FrameType) -> bool:
    """Whether it is a text that `eval` or `exec` runs."""
    return (frame.f_code.co_filename, frame.f_code.co_name) == ("<string>", "<module>")
