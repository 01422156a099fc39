"""How deep Python's functions may call each other while something here runs.

The limit is the whole process's, and several threads may run programs at once: it is the highest
that any of them asks for, and becomes what it was when the last one is done.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..diagnostics import Diagnostic, GradcliError
from .ownership import may_change

TOO_DEEP = Diagnostic(
    "E406", "nested too deeply", help="split the expression, or turn the recursion into a loop"
)
_lock = _thread.allocate_lock()
_asked: list[int] = []  # what it was before, and what all that run ask for


@contextmanager
def recursion(limit: int) -> Iterator[None]:
    """Room for so many calls inside each other, or as many as there was room for before. Raises
    GradcliError (E406) where that isn't enough."""
    raises = may_change()
    if raises:
        _raise(limit)
    try:
        yield
    except RecursionError:
        raise GradcliError(TOO_DEEP) from None
    finally:
        if raises:
            _lower(limit)


def _raise(limit: int) -> None:
    with _lock:
        if not _asked:
            _asked.append(sys.getrecursionlimit())
        _asked.append(limit)
        sys.setrecursionlimit(max(_asked))


def _lower(limit: int) -> None:
    with _lock:
        _asked.remove(limit)
        sys.setrecursionlimit(max(_asked))
        if len(_asked) == 1:
            _asked.clear()
