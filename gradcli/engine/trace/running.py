"""What a process must be like while a program runs in it."""

from __future__ import annotations

import _thread
from contextlib import ExitStack
from types import TracebackType

from ...diagnostics import GradcliError
from ...platform.collector import collector_paused
from ...platform.recursion import TOO_DEEP, recursion
from ..backends.backend import ieee
from .run import MAX_DEPTH

# Of Python frames, for `MAX_DEPTH` calls of a program inside each other, some thirty for each, and
# for deep expressions. Python's own functions don't use the C stack when they call each other, so
# the limit may be high; but C code that recurses relies on it, so it is restored.
STACK = 50 * MAX_DEPTH


class running:  # noqa: N801 - a context, and written like one
    """A context in which programs run: the garbage collector is paused, floating-point errors are
    values and no warnings, and there is room for `MAX_DEPTH` calls inside each other.

    Entered again inside itself, it changes nothing and costs next to nothing. Raises GradcliError
    (E406) where calls are nested too deeply for it.
    """

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        self._changed: ExitStack | None = None

    def __enter__(self) -> None:
        if getattr(_here, "runs", False):
            return
        self._changed = ExitStack()
        for context in (collector_paused(), ieee(), recursion(STACK)):
            self._changed.enter_context(context)
        _here.runs = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._changed is not None:
            _here.runs = False
            self._changed.close()
        if kind is not None and issubclass(kind, RecursionError):
            raise GradcliError(TOO_DEEP) from None


_here = _thread._local()  # of each thread: `runs`, whether a program runs in it
