"""The same work on many files: on several processes where they are many and it is worth it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ..diagnostics import Diagnostic


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_Answer = TypeVar("_Answer")
Diagnoses = Callable[[BaseException], Diagnostic]


def each(
    work: Callable[[str], _Answer],
    names: Sequence[str],
    failed: Callable[[str, list[Diagnostic]], _Answer],
    diagnoses: Diagnoses | None,
    *,
    jobs: int | None = None,
    files_a_process: int = 50,
    begin: Callable[[], None] | None = None,
) -> Iterator[_Answer]:
    """What the work gives for each file, in their order; `-` is standard input, which only this
    process can read. There are `jobs` processes, which `begin` first; None: as many as there are
    cores, where there are files enough. A fault of gradcli's own is told as what `failed` with that
    file, and with the others the work goes on; without `diagnoses` it ends here."""
    if diagnoses is not None:
        work = partial(_tried, work, failed, diagnoses)
    jobs = min(jobs or min(cores(), len(names) // files_a_process), len(names))
    if jobs < 2 or "-" in names:
        yield from map(work, names)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    can_fork = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if can_fork else None)
    with ProcessPoolExecutor(jobs, context, initializer=begin) as pool:
        yield from pool.map(work, names, chunksize=max(1, files_a_process // 5))


def _tried(
    work: Callable[[str], _Answer],
    failed: Callable[[str, list[Diagnostic]], _Answer],
    diagnoses: Diagnoses,
    name: str,
) -> _Answer:
    try:
        return work(name)
    except Exception as error:
        found = diagnoses(error)
        return failed(name, [replace(found, message=f"{name}: {found.message}")])
