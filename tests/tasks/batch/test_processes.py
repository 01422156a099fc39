"""Processes that share the work: their results come in order, from memory that both sides see."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import Diagnostic, GradcliError
from gradcli.tasks.batch.processes import LARGE, can_fork, in_processes

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes don't fork here")


def squares(n: int, empty: Any) -> tuple[int, Any, Any]:
    """An array made where the result goes, one that isn't, and a small one."""
    time.sleep(0.02 * (n % 3))
    mine = empty((3, LARGE), np.float64)
    mine[...] = n * n
    return os.getpid(), (mine.T, np.full(LARGE + n, float(n))), np.arange(n)


@pytest.mark.parametrize("room", [0, 2**22])
def test_results_come_in_order_whoever_made_them(room: int) -> None:
    makers = set()
    for n, (pid, (mine, other), small) in enumerate(in_processes(range(20), squares, 2, room)):
        makers.add(pid)
        assert (mine == n * n).all()
        assert mine.shape == (LARGE, 3)
        assert other.tolist() == [float(n)] * (LARGE + n)
        assert small.tolist() == list(range(n))
    assert len(makers) == 2
    assert os.getpid() not in makers


@pytest.mark.parametrize(("tasks", "processes"), [(0, 2), (1, 2), (5, 1)])
def test_little_work_stays_here(tasks: int, processes: int) -> None:
    assert {pid for pid, *_ in in_processes(range(tasks), squares, processes)} <= {os.getpid()}


def test_few_tasks_are_taken_in_advance() -> None:
    taken = []

    def tasks() -> Iterator[int]:
        for n in range(100):
            taken.append(n)
            yield n

    results = in_processes(tasks(), squares, 2)
    for _ in range(3):
        next(results)
    assert len(taken) < 12
    results.close()


def fails(n: int, empty: Any) -> int:
    if n == 3:
        raise GradcliError(Diagnostic("E404", f"task {n} took too long"))
    return n


def test_what_a_task_raises_is_raised_here_after_the_results_before() -> None:
    seen: list[int] = []
    with pytest.raises(GradcliError, match="task 3 took too long"):
        seen.extend(in_processes(range(10), fails, 2))
    assert seen == list(range(len(seen)))


def dies(n: int, empty: Any) -> int:
    if n == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(GradcliError, match="ended: signal SIGKILL") as caught:
        list(in_processes(range(10), dies, 2))
    assert caught.value.exit_code == 4


def test_a_process_that_has_died_while_nobody_waited_for_it_is_told() -> None:
    """A pipe that nobody reads is no standard output that nobody reads."""

    def tasks() -> Iterator[int]:
        for n in range(10):
            if n == 6:
                for process in multiprocessing.active_children():
                    process.kill()
                    process.join()
            yield n

    with pytest.raises(GradcliError, match="ended: signal SIGKILL"):
        list(in_processes(tasks(), fails_never, 2))


def fails_never(n: int, empty: Any) -> int:
    return n


def endless(n: int, empty: Any) -> int:
    while n == 1:
        pass
    return os.getpid()


def test_an_endless_task_ends_with_those_who_wait_for_it() -> None:
    results = in_processes(range(4), endless, 2)
    pid = next(results)
    results.close()
    assert not Path(f"/proc/{pid}").exists()
