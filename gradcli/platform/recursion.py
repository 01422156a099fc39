"""How deep Python's functions may call each other while something here runs.

The limit is the whole process's, and several threads may run programs at once: it is the highest that any of them asks for,
and becomes what it was when the last one is done.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .ownership import may_change

_lock = _thread.allocate_lock()
_asked: list[int] = []  # what it was before, and what all that run ask for


@contextmanager
def recursion(limit: int) -> Iterator[None]:
    """Room for so many calls inside each other, or as many as there was room for before."""
    if not may_change():
        yield
        return
    with _lock:
        if not _asked:
            _asked.append(sys.getrecursionlimit())
        _asked.append(limit)
        sys.setrecursionlimit(max(_asked))
    try:
        yield
    finally:
        with _lock:
            _asked.remove(limit)
            sys.setrecursionlimit(max(_asked))
            if len(_asked) == 1:
                _asked.clear()
