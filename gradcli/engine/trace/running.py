"""The context in which a program runs: the state of the process meanwhile."""

from __future__ import annotations

import _thread
from collections.abc import Iterator
from contextlib import contextmanager

from ...platform.collector import collector_paused
from ...platform.recursion import recursion
from ..backends.backend import ieee
from .run import MAX_DEPTH

# Of Python frames, for `MAX_DEPTH` calls of a program inside each other, some thirty for each, and
# for deep expressions. Python's own functions don't use the C stack when they call each other, so
# the limit may be high; but C code that recurses relies on it, so it is restored.
STACK = 50 * MAX_DEPTH


@contextmanager
def running() -> Iterator[None]:
    """A context in which programs run: the garbage collector is paused, floating-point errors are
    values and no warnings, and there is room for `MAX_DEPTH` calls inside each other.

    Entered again inside itself, it changes nothing and costs next to nothing. Raises GradcliError
    (E406) where calls are nested too deeply for it.
    """
    if getattr(_here, "runs", False):
        yield
        return
    _here.runs = True
    try:
        with collector_paused(), ieee(), recursion(STACK):
            yield
    finally:
        _here.runs = False


_here = _thread._local()  # of each thread: `runs`, whether a program runs in it
