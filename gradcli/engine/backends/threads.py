"""Threads for blocks of rows: how many compute at once, of which results don't depend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from .backend import ieee

Item = TypeVar("Item")
Found = TypeVar("Found")
_threads: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Lets `in_order` use so many threads inside. In these themselves it uses one."""
    before = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(before)


def in_order(function: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]:
    """The results of a function for some items, in their order. Raises the exception of the first
    item that has one."""
    count = min(_threads.get(), len(items))
    if count <= 1:
        yield from map(function, items)
        return
    from concurrent.futures import Future  # where threads are asked for, never before
    from queue import Empty, SimpleQueue

    from ...platform.threads import start

    found: list[Future[Found]] = [Future() for _ in items]
    waiting: SimpleQueue[tuple[Future[Found], Item]] = SimpleQueue()
    for pair in zip(found, items, strict=True):
        waiting.put(pair)

    def serve() -> None:
        with suppress(Empty), ieee():
            while True:
                future, item = waiting.get_nowait()
                try:
                    future.set_result(function(item))
                except BaseException as error:
                    future.set_exception(error)

    for _ in range(count):
        start(serve)
    try:
        for future in found:
            yield future.result()
    finally:
        with suppress(Empty):
            while True:
                waiting.get_nowait()
