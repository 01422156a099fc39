"""The run that the numbers and arrays of a thread belong to outside of programs, and its errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from ..diagnostics import Diagnostic, GradcliError
from ..engine.backends.backend import ieee
from ..engine.execution import new_run
from ..engine.trace.run import Settings
from ..engine.values import kinds as values

NOWHERE: Any = None  # the place in a program of what happens outside of programs


class _Session(threading.local):
    """The run that a thread's values belong to, whose main tape never records; and the variables
    of Python, by the engine's own."""

    def __init__(self) -> None:
        self.run = new_run(Settings(), {})
        self.variables: WeakValueDictionary[values.Variable, Any] = WeakValueDictionary()
        self.run.trace.pause([self.run.trace.main])


session = _Session()


@contextmanager
def in_the_engine() -> Iterator[None]:
    """Floating-point errors are values; errors come without the frames of the engine, but with what
    a registered function raised."""
    try:
        with ieee():
            yield
    except GradcliError as error:
        raise GradcliError(*error.diagnostics) from getattr(error.__context__, "__cause__", None)


def fail(code: str, message: str, help: str = "") -> NoReturn:
    raise GradcliError(Diagnostic(code, message, help=help))
