"""Processes that compute blocks, one for each core: forks of this one, which share nothing but what
they hand over.

Threads would take turns at the interpreter between every two operations on arrays. A fork begins
with the program compiled, and has the arrays of what a block gives in memory that both processes
see, where the parent reads them without a copy.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...diagnostics import Diagnostic, GradcliError
from ...platform.arranging import arrange

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LARGE = 2**14  # bytes: smaller buffers go through the pipe
ALIGNED = 64
SLOTS = 2  # blocks of a worker that are under way, or wait for their turn to be written
PR_SET_PDEATHSIG = 1

Task = TypeVar("Task")
Result = TypeVar("Result")
Empty = Callable[[tuple[int, ...], Any], Any]  # makes an array, given its shape and its dtype
Work = Callable[
    [Task, Empty], Result
]  # what is to be done, with the large arrays of its result made by the function given


def can_fork() -> bool:
    """Whether processes here begin as copies of this one, and end with it."""
    return sys.platform == "linux"


def in_processes(
    tasks: Iterable[Task], work: Work[Task, Result], processes: int, room: int = 0
) -> Iterator[Result]:
    """What `work` gives for the tasks, in their order, from so many forks of this process; from
    this one, where there is but one task. A few are done in advance, so that memory stays bounded.
    What a task raises is raised here. `room` is how many bytes the arrays of a result will likely
    have: what is made there needn't be copied.

    A result's large arrays are good until the next result is asked for.
    """
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    if len(first) < 2 or processes < 2:
        for task in chain(first, tasks):
            yield work(task, np.empty)
        return
    workers = [_Worker(work, room) for _ in range(processes)]
    try:
        yield from _in_order(chain(first, tasks), workers)
    finally:
        for worker in workers:
            worker.process.kill()  # it may be in an endless loop
        for worker in workers:
            worker.end()


def _in_order(tasks: Iterator[Task], workers: list[_Worker]) -> Iterator[Any]:
    from multiprocessing.connection import (
        wait,
    )  # here, as all of multiprocessing: jobs of one block don't pay for it

    answered: dict[int, _Worker] = {}
    sent = due = 0
    more = True
    while True:
        for worker in sorted(workers, key=lambda w: len(w.under_way)):
            while more and worker.free:
                try:
                    task = next(tasks)
                except StopIteration:
                    more = False
                    break
                worker.give(sent, task)
                sent += 1
        while due in answered:
            worker = answered.pop(due)
            yield worker.take(due)
            worker.let_go(due)
            due += 1
            break  # first there may be work to give away
        else:
            if due == sent and not more:
                return
            for connection in wait([w.connection for w in workers if w.is_computing]):
                worker = next(w for w in workers if w.connection is connection)
                answered[worker.hear()] = worker


class _Slot:
    """Memory that a worker writes a result to, and the parent reads it from."""

    def __init__(self) -> None:
        self.file = os.memfd_create("gradcli-block")
        self.memory: mmap.mmap | None = None
        self.end = 0  # of what the next result has there already

    def room(self, size: int) -> mmap.mmap:
        """The memory, with at least so many bytes."""
        if self.memory is None or len(self.memory) < size:
            size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            if os.fstat(self.file).st_size < size:
                os.ftruncate(self.file, size)
            self.memory = mmap.mmap(self.file, size)
        return self.memory

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array in the memory, if there is still room from the results before."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        start = self.end
        if self.memory is None or dtype is object or start + size > len(self.memory):
            return np.empty(shape, dtype)
        self.end = _aligned(start + size)
        return np.frombuffer(self.memory, dtype, int(np.prod(shape)), start).reshape(shape)

    def put(self, value: Any) -> tuple[bytes, list[tuple[int, int]]]:
        """Writes the large buffers of a value into the memory, but those that are there: the rest
        of it, and where these are."""
        buffers: list[memoryview] = []

        def is_small(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes >= LARGE:
                buffers.append(raw)
            return raw.nbytes < LARGE

        rest = pickle.dumps(value, protocol=5, buffer_callback=is_small)
        base, length = (
            (0, 0) if self.memory is None else (_address(memoryview(self.memory)), len(self.memory))
        )
        places = []
        for buffer in buffers:
            start = _address(buffer) - base
            if not 0 <= start < length:
                start, self.end = self.end, _aligned(self.end + buffer.nbytes)
                self.room(self.end)[start : start + buffer.nbytes] = buffer
            places.append((start, buffer.nbytes))
        self.end = 0
        return rest, places

    def get(self, rest: bytes, places: list[tuple[int, int]]) -> Any:
        """The value that was put there."""
        memory = memoryview(
            self.room(max(start + size for start, size in places)) if places else b""
        )
        return pickle.loads(
            rest, buffers=[memory[start : start + size] for start, size in places]
        )  # of our own fork


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _address(buffer: memoryview) -> int:
    return int(np.frombuffer(buffer, np.uint8).ctypes.data)


class _Worker:
    """The parent's side of a process."""

    def __init__(self, work: Work[Any, Any], room: int) -> None:
        import multiprocessing

        context = multiprocessing.get_context("fork")
        self.slots = [_Slot() for _ in range(SLOTS)]
        for slot in self.slots:
            slot.room(max(1, room))
        self.free = list(range(SLOTS))
        self.under_way: dict[
            int, int
        ] = {}  # tasks that were given, and the slots for what they give
        self.heard: dict[int, tuple[bytes, list[tuple[int, int]]]] = {}
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(work, theirs, self.slots, os.getpid()), daemon=True
        )
        self.process.start()
        theirs.close()

    @property
    def is_computing(self) -> bool:
        return len(self.under_way) > len(self.heard)

    def give(self, number: int, task: Any) -> None:
        """Has the process do a task. Raises GradcliError where it is dead."""
        slot = self.under_way[number] = self.free.pop()
        try:
            self.connection.send((number, slot, task))
        except ConnectionError:  # not that of standard output
            raise self._has_ended() from None

    def hear(self) -> int:
        """The number of a task that is done. Raises what it raised, and GradcliError where the
        process is dead."""
        try:
            number, answer, error = self.connection.recv()
        except (EOFError, OSError):
            raise self._has_ended() from None
        if error is not None:
            raise error
        self.heard[number] = answer
        return int(number)

    def _has_ended(self) -> GradcliError:
        self.process.join()
        code = self.process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        help = "if memory is short, take fewer --threads, or smaller blocks with --block-rows"
        return GradcliError(
            Diagnostic("E405", f"a process that computed a block has ended: {how}", help=help)
        )

    def take(self, number: int) -> Any:
        return self.slots[self.under_way[number]].get(*self.heard.pop(number))

    def let_go(self, number: int) -> None:
        self.free.append(self.under_way.pop(number))

    def end(self) -> None:
        self.process.join()
        self.connection.close()
        for slot in self.slots:
            os.close(slot.file)


def end_with_parent(parent: int) -> bool:
    """Has this process end when its parent does: if that is killed, an endless loop must not go on.
    False where it is gone."""
    if can_fork():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def _serve(
    work: Work[Any, Any], connection: Connection[Any, Any], slots: list[_Slot], parent: int
) -> None:
    """What a worker does, until nobody wants anything any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to answer
    if not end_with_parent(parent):
        return
    arrange()
    while True:
        try:
            number, slot, task = connection.recv()
        except EOFError:
            return
        try:
            answer, error = slots[slot].put(work(task, slots[slot].empty)), None
        except BaseException as raised:
            answer, error = None, raised
        connection.send((number, answer, error))
