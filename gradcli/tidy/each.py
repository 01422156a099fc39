"""The same work on many files: on several processes where they are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..tasks.cores import cores

FILES_A_PROCESS = 50

_Answer = TypeVar("_Answer")


def each(work: Callable[[str], _Answer], names: Sequence[str]) -> Iterator[_Answer]:
    """What the work gives for each file, in their order. `-` is standard input, which only this
    process can read."""
    jobs = min(cores(), len(names) // FILES_A_PROCESS)
    if jobs < 2 or "-" in names:
        yield from map(work, names)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    can_fork = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if can_fork else None)
    with ProcessPoolExecutor(jobs, context) as pool:
        yield from pool.map(work, names, chunksize=FILES_A_PROCESS // 5)
