"""Simplification in a process of its own, which is ended where it takes too long: SymPy can't be interrupted.

The two ends talk over the pipes of the child that the parent started, and nobody else can write to these.
"""

from __future__ import annotations

import io
import os
import pickle
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ...safe_path import python_that_serves

MEMORY = 2 * 2**30  # bytes that the child may take


class Simplifier:
    """A process that simplifies. It imports SymPy while its parent goes on, so it is best started early; it ends with
    the block that it is opened for."""

    def __init__(self) -> None:
        command = python_that_serves(__name__)
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Simplifier:
        return self

    def __exit__(self, *error: object) -> None:
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None and not pipe.closed:
                with suppress(OSError):  # what it never read
                    pipe.close()

    def simplified(self, forms: Sequence[Any], seconds: float) -> list[Any]:
        """The forms, simplified; None where that took too long, for all of them together, or came to nothing."""
        found: list[Any] = [None] * len(forms)
        deadline = time.monotonic() + seconds
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        try:
            request = pickle.dumps((list(forms), seconds))
            self.child.stdin.write(request)
            self.child.stdin.close()
        except (OSError, RecursionError):  # the child didn't come up, or a form is nested too deep
            return found
        for k, form in _answers(self.child.stdout.fileno(), deadline):
            found[k] = form
        return found


def _answers(pipe: int, deadline: float) -> Iterator[tuple[int, Any]]:
    """What the child answers until then: each with its length before it."""
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and selector.select(left):
            part = os.read(pipe, 2**16)
            if not part:
                return
            received += part
            while len(received) >= 8 and len(received) >= (end := 8 + int.from_bytes(received[:8], "big")):
                yield pickle.loads(received[8:end])
                received = received[end:]


# ---- the child -------------------------------------------------------------------------------------------------------


def serve() -> None:
    """Reads forms from standard input, and writes each one simplified to standard output, short ones first."""
    import sympy

    sys.setrecursionlimit(20_000)
    answers = os.fdopen(os.dup(1), "wb")
    forms, seconds = pickle.load(sys.stdin.buffer)
    _limit(seconds)
    for k in sorted(range(len(forms)), key=lambda k: int(forms[k].count_ops())):
        answer = io.BytesIO()
        try:
            found = sympy.simplify(forms[k])
            pickle.dump((k, found if found.count_ops() < forms[k].count_ops() else forms[k]), answer)
        except Exception:  # whatever goes wrong inside SymPy, the form as it was is right
            answer = io.BytesIO(pickle.dumps((k, forms[k])))
        data = answer.getvalue()
        answers.write(len(data).to_bytes(8, "big") + data)
        answers.flush()


def _limit(seconds: float) -> None:
    """Ends the child by itself, should the parent be gone."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        return  # no such limits on this system
