"""The limits of one command: `--timeout` and `--max-memory`. Both hold for the whole process, so
they are set only here.

Two things enforce the timeout. A timer interrupts the program between two steps of the interpreter,
so that what it printed so far survives. A watchdog thread ends the process where that doesn't
happen, inside one long array operation.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ..diagnostics import Diagnostic, GradcliError

GRACE = 0.5  # seconds between the timer and the watchdog
GRACE_OF_PROCESSES = 15.0  # where other processes have to be ended
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_memory(text: str | None) -> int | None:
    """`100M`, `2G`, `1.5GiB`, `4096` as bytes; None where no limit is given."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size <= 0:
        raise GradcliError(
            Diagnostic("E001", f"--max-memory: `{text}` is not a size", help="write `100M` or `2G`")
        )
    return size


def parse_timeout(seconds: float | None) -> float | None:
    """The seconds of `--timeout`, which have to be a time that passes."""
    if seconds is not None and not 0 < seconds < 1e9:
        raise GradcliError(
            Diagnostic(
                "E001",
                f"--timeout: `{seconds:g}` is not a time",
                help="write seconds: `--timeout 10`",
            )
        )
    return seconds


@contextmanager
def limited(
    timeout: float | None,
    memory: int | None,
    last_words: Callable[[Diagnostic], object],
    device: str = "cpu",
    grace: float = GRACE,
    given: float | None = None,
) -> Iterator[None]:
    """Runs its block under the limits; raises GradcliError (E404, E405) where one is reached. On a
    GPU the limit of memory is that of the arrays there, which the run sets: of the process the
    GPU's driver takes as much as it likes.

    `last_words` is called, from another thread, before the process is ended for not coming back
    within `grace` seconds; the exit code is 4 then. `given` is the timeout that the user gave,
    where `timeout` is what is left of it.
    """
    with (
        _time_limit(timeout, last_words, grace, given or timeout),
        _memory_limit(memory if device == "cpu" else None),
    ):
        try:
            yield
        except (MemoryError, SystemError) as error:
            if type(error) is SystemError and memory is None:
                raise  # else Python found no memory to say that it has none
            raise GradcliError(out_of_memory(str(error))) from None


def out_of_memory(detail: str = "") -> Diagnostic:
    return Diagnostic(
        "E405", "out of memory", label=detail, help="raise --max-memory, or make the arrays smaller"
    )


@contextmanager
def _time_limit(
    seconds: float | None,
    last_words: Callable[[Diagnostic], object],
    grace: float,
    given: float | None,
) -> Iterator[None]:
    if seconds is None:
        yield
        return
    import signal
    import threading

    from .signals import SOON, kept_from_threads

    reached = Diagnostic(
        "E404",
        f"the program ran longer than --timeout {given:g} seconds",
        help="raise --timeout, or compute less",
    )
    fired = False

    def interrupt(signal_number: int, frame: FrameType | None) -> None:
        nonlocal fired
        fired = True
        raise GradcliError(reached)

    def dropped(told: sys.UnraisableHookArgs) -> None:
        if fired and isinstance(told.exc_value, GradcliError):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            hook(told)

    def end() -> None:
        try:
            last_words(reached)
        finally:
            os._exit(reached.exit_code)

    watchdog = threading.Timer(seconds + grace, end)
    watchdog.daemon = True
    with kept_from_threads():
        watchdog.start()
    has_timer = hasattr(signal, "setitimer")  # Windows has none; the watchdog is enough there
    hook = sys.unraisablehook
    if has_timer:
        sys.unraisablehook = dropped  # the timer may come in a `__del__`
        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Exception:
        if fired:  # some library, interrupted in the middle, may have made another error of it
            raise GradcliError(reached) from None
        raise
    finally:
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            sys.unraisablehook = hook
        watchdog.cancel()


@contextmanager
def _memory_limit(size: int | None) -> Iterator[None]:
    """Lets the process take `size` bytes more than it has now."""
    if size is None:
        yield
        return
    # The array library is loaded first: the limit is for what the program makes, not for the code
    # that makes it.
    import numpy  # noqa: F401

    try:
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        limit = _data_in_use() + size
        if before[1] != resource.RLIM_INFINITY:
            limit = min(limit, before[1])
        resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    except (ImportError, OSError, ValueError):
        yield  # no such limit on this system: allocations are still checked one by one
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _data_in_use() -> int:
    """Bytes of the data segment of this process; OSError where the system doesn't tell."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    raise OSError("no VmData")
