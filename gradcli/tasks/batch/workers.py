"""Threads that compute blocks, each with a program compiled for itself: on GPUs, which compute
while Python goes on, and on cores where processes don't fork (`processes.py`)."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from ...engine.backends.devices import is_gpu
from ...engine.backends.selection import devices_of
from ...platform.threads import start
from ..each import cores

if TYPE_CHECKING:
    from concurrent.futures import Future

STREAMS = 2  # threads for each GPU: while one computes, the other copies

Task = TypeVar("Task")
Result = TypeVar("Result")


def dealt(device: str, threads: int | None = None) -> list[str]:
    """The device of each thread that computes. By default there is one thread for each core, or two
    for each GPU. Raises GradcliError where a device isn't there (E501), and for what is no name of
    one (E001)."""
    if not is_gpu(device):
        return [device] * (threads or cores())
    there = devices_of(device)
    return [there[k % len(there)] for k in range(threads or STREAMS * len(there))]


def in_threads(
    tasks: Iterable[Task], makers: Sequence[Callable[[], Callable[[Task], Result]]]
) -> Iterator[Result]:
    """The results of the tasks, in their order, from a thread for each maker: what a maker gives,
    called in its thread, does a task. A few are done in advance, so that memory stays bounded. What
    a task raises is raised here."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2)) if len(makers) > 1 else []
    if len(first) < 2:  # nobody to wait for, and interruptions come at once
        yield from map(makers[0](), chain(first, tasks))
    else:
        yield from _dealt_out(chain(first, tasks), makers, 2 * len(makers))


def in_advance(tasks: Iterable[Task], do: Callable[[Task], Result]) -> Iterator[Result]:
    """What `do` gives for the tasks, in their order: while one is looked at, a thread does the
    next."""
    tasks = iter(tasks)
    first = list(islice(tasks, 2))
    yield from (
        map(do, first) if len(first) < 2 else _dealt_out(chain(first, tasks), [lambda: do], 1)
    )


def _dealt_out(
    tasks: Iterable[Task], makers: Sequence[Callable[[], Callable[[Task], Result]]], advance: int
) -> Iterator[Result]:
    from concurrent.futures import Future  # here: where there is one thread, nobody pays for it

    todo: queue.SimpleQueue[tuple[Task, Future[Result]] | None] = queue.SimpleQueue()
    waiting: deque[Future[Result]] = deque()
    for maker in makers:
        start(partial(_serve, maker, todo))
    try:
        for task in tasks:
            future: Future[Result] = Future()
            waiting.append(future)
            todo.put((task, future))
            if len(waiting) > advance:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        for _ in makers:
            todo.put(None)


def _serve(maker: Callable[[], Callable[[Task], Result]], todo: queue.SimpleQueue[Any]) -> None:
    work: Callable[[Task], Result] | None = None
    while (item := todo.get()) is not None:
        task, future = item
        if not future.set_running_or_notify_cancel():
            continue
        try:
            work = work or maker()
            future.set_result(work(task))
        except BaseException as error:
            future.set_exception(error)
