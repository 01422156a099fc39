"""Workers of a job's own, for `--workers`: fresh Pythons, which a job talks to over their standard
input and output.

They know what a cluster's workers know: the plan, and where the rows are. Nobody else can reach a
pipe between two processes, so that what comes out of it may be unpickled; a port, even one of this
machine alone, could be reached by all of its users.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from ...diagnostics import Diagnostic, GradcliError
from ...platform.arranging import arrange
from ...platform.search_path import python_that_calls
from ...rows.blocks import BadPart, Range
from .block import Outcome
from .plan import Plan
from .processes import end_with_parent
from .remote import computer_for
from .workers import in_threads

ATTEMPTS = 4  # workers that a block may take with it


def on_workers(tasks: Iterable[Range | BadPart], plan: Plan, count: int) -> Iterator[Outcome]:
    """The outcomes of the ranges, in their order, from so many processes. What one computed when it
    died, another one computes. Raises GradcliError (E405) where a block takes one worker after the
    other with it."""
    workers = [_Worker(plan, number) for number in range(count)]
    try:
        yield from in_threads(tasks, [worker.started for worker in workers])
    finally:
        for worker in workers:
            worker.close()


class _Worker:
    """The job's side of a worker: a thread's, which waits for it."""

    def __init__(self, plan: Plan, number: int) -> None:
        self._plan, self._number = plan, number
        self._process: subprocess.Popen[bytes] | None = None
        self._is_wanted = True
        self._lock = threading.Lock()

    def started(self) -> Callable[[Range | BadPart], Outcome]:
        """What does a task."""
        self._start()
        return self._done

    def _start(self) -> None:
        with self._lock, _uninterrupted():
            if not self._is_wanted:
                raise InterruptedError
            self._process = subprocess.Popen(
                python_that_calls(__name__, "serve"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        self._tell((self._plan, self._number, os.getpid()))

    def _done(self, task: Range | BadPart) -> Outcome:
        """The outcome of a task. Raises what that raises."""
        for _ in range(ATTEMPTS):
            self._tell(task)
            try:
                outcome, error = self._heard()
            except (EOFError, OSError, pickle.UnpicklingError):
                self._end()
                self._start()
                continue
            if error is not None:
                raise error
            return outcome  # type: ignore[no-any-return]
        raise GradcliError(lost(ATTEMPTS))

    def _tell(self, message: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):  # it is dead, and `_heard` says so
            _write(self._process.stdin, message)

    def _heard(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        """Ends the process, whatever it computes, and starts no other."""
        with self._lock:
            self._is_wanted = False
        self._end()

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(
                    OSError, ValueError
                ):  # what it never read; or a thread still reads it, whose it is then
                    pipe.close()


def lost(count: int) -> Diagnostic:
    """What it means that workers end while they compute a block."""
    message = f"a block took {count} workers with it: they ended while they computed it"
    return Diagnostic(
        "E405",
        message,
        help="did they run out of memory? make --block-rows smaller, or give workers more",
    )


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal. Those that are started meanwhile never see it:
    the job ends them."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _write(pipe: IO[bytes], message: Any) -> None:
    """All of it or nothing: what can't be pickled mustn't leave half a message behind."""
    pipe.write(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))
    pipe.flush()


# ---- the worker ----------------------------------------------------------------------------------


def serve() -> None:
    """What a worker does: computes what it hears of on standard input, and answers on standard
    output."""
    arrange()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what anything else prints is no answer
    with suppress(EOFError):
        plan, number, parent = pickle.load(given)
        if not end_with_parent(parent):
            return
        computer = None
        while True:
            task = pickle.load(given)
            outcome: Outcome | None = None
            error: BaseException | None = None
            try:
                computer = computer or computer_for(plan, number)
                outcome = computer.work(task)
            except BaseException as raised:
                error = raised
            _write(answers, (outcome, error))
