"""How deep Python's functions may call each other while something here runs, and where their frames are.

The limit is the whole process's, and several threads may run programs at once: it is the highest that any of them asks for,
and becomes what it was when the last one is done.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_lock = _thread.allocate_lock()
_asked: list[int] = []  # what it was before, and what all that run ask for


@contextmanager
def recursion(limit: int) -> Iterator[None]:
    """Room for so many calls inside each other, or as many as there was room for before."""
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


def in_one_piece(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function with all frames inside of it in one piece of memory: see Note [Pieces]. For what programs are run by."""

    @wraps(function)
    def inside(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return _roomy(function, args, kwargs)  # type: ignore[no-any-return]

    return inside


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


_NEED = 2**15 + 1  # words, a little more than half of a piece of 512 KB
_is_cpython = sys.implementation.name == "cpython"
_roomy = FunctionType(_called.__code__.replace(co_stacksize=_NEED), globals()) if _is_cpython else _called

# Note [Pieces]
#
# CPython takes memory for frames in pieces of 16 KB, and gives one back as soon as no frame is in it. So a loop that calls a
# function across the border of two pieces asks the system for memory at each call, which takes as long as a hundred calls;
# there is such a border every fifty frames or so, and a program of nested expressions and functions goes back and forth over
# it. A frame that says it needs more than half of a large piece, and uses none of it, leaves the rest to the frames inside of
# it, about a thousand. What isn't used is never touched, and takes up no memory.
