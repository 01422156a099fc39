"""The command line that is running: what it is, and when it was given."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_began: list[float] = []
_given: list[str] = []


@contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """While this is entered, the command line is what runs."""
    _began[:], _given[:] = [time.monotonic()], arguments
    try:
        yield
    finally:
        _began.clear()


def began() -> float:
    """When the command line that is running was given, by the monotonic clock."""
    return _began[0] if _began else time.monotonic()


def given_arguments() -> list[str]:
    """The command line that is running."""
    return list(_given)
