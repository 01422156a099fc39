"""Simplification in a process of its own, which is ended where it takes too long: SymPy can't be
interrupted.

The two ends talk over the pipes of the child that the parent started, and nobody else can write to
these.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from ...platform.search_path import python_that_calls

MEMORY = 2 * 2**30  # bytes that the child may take


class Simplifier:
    """A process that simplifies. It imports SymPy while its parent goes on, so it is best started
    early; it ends with the block that it is opened for."""

    def __init__(self) -> None:
        command = python_that_calls(__name__, "serve")
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Simplifier:
        return self

    def __exit__(self, *error: object) -> None:
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None and not pipe.closed:
                with suppress(OSError):  # what it never read
                    pipe.close()

    def simplified(
        self, forms: Sequence[Any], point: Mapping[Any, Any], seconds: float
    ) -> list[Any]:
        """The forms, simplified, or as they were where SymPy's isn't equal at the point; None where
        that took too long, for all of them together, or came to nothing."""
        found: list[Any] = [None] * len(forms)
        deadline = time.monotonic() + seconds
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        try:
            request = pickle.dumps((list(forms), dict(point), seconds))
            self.child.stdin.write(request)
            self.child.stdin.close()
        except (OSError, RecursionError):  # the child didn't come up, or a form is nested too deep
            return found
        for k, form in _answers(self.child.stdout.fileno(), deadline):
            found[k] = form
        return found


def _answers(pipe: int, deadline: float) -> Iterator[tuple[int, Any]]:
    """Yields the answers of the child until the time is over."""
    with Connection(os.dup(pipe), writable=False) as answers, suppress(EOFError):
        while (left := deadline - time.monotonic()) > 0 and answers.poll(left):
            yield answers.recv()


# ---- the child -----------------------------------------------------------------------------------


def serve() -> None:
    """Reads forms from standard input, and writes each one simplified to standard output, short
    ones first."""
    from . import calculus  # noqa: F401 - SymPy is imported while the parent gets its question ready

    sys.setrecursionlimit(20_000)
    forms, point, seconds = pickle.load(sys.stdin.buffer)
    _limit(seconds)
    with Connection(os.dup(1), readable=False) as answers:
        answer(forms, point, answers)


def answer(forms: Sequence[Any], point: Mapping[Any, Any], answers: Connection) -> None:
    """Sends each form simplified, with its number: as it was where SymPy's isn't simpler, or isn't
    equal to it at the point."""
    import sympy

    from .calculus import evaluate

    for k in sorted(range(len(forms)), key=lambda k: int(forms[k].count_ops())):
        try:
            found = _of_real_bases(sympy.simplify(forms[k]))
            if found.count_ops() >= forms[k].count_ops() or not _is_same(
                *(evaluate(f, point, 20) for f in (forms[k], found))
            ):
                found = forms[k]
            answers.send((k, found))
        except Exception:  # whatever goes wrong inside SymPy, the form as it was is right
            answers.send((k, forms[k]))


def _of_real_bases(form: Any) -> Any:
    """The form with |x|^p where SymPy has |x^p|: they are equal, but for a negative x and a broken
    exponent the latter has a complex number on the way, which is nan in floats."""
    import sympy

    def is_of_power(part: Any) -> bool:
        return isinstance(part, sympy.Abs) and part.args[0].is_Pow and part.args[0].exp.is_real

    return form.replace(is_of_power, lambda part: sympy.Abs(part.args[0].base) ** part.args[0].exp)


def _is_same(a: Any, b: Any) -> bool:
    """Whether two forms have the same value at a point, as far as fifteen digits tell."""
    if not (a.is_number and b.is_number):
        return bool(a == b)
    return (
        a == b
        or bool(abs(a - b) <= 1e-12 * abs(a))
        or (a.is_finite is not True and b.is_finite is not True)
    )


def _limit(seconds: float) -> None:
    """Makes the child end itself if its parent has ended."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        return  # no such limits on this system
