"""Work in threads: what is done in advance, in what order results come, and what becomes of
errors."""

from __future__ import annotations

import threading

import pytest

from gradcli.tasks.batch.workers import in_advance


def test_the_next_is_done_while_one_is_looked_at() -> None:
    begun = [threading.Event() for _ in range(5)]

    def do(n: int) -> tuple[int, int]:
        begun[n].set()
        return n, threading.get_ident()

    for n, (result, thread) in enumerate(in_advance(range(5), do)):
        assert (result, thread == threading.get_ident()) == (n, False)
        if n < 4:
            assert begun[n + 1].wait(60)


@pytest.mark.parametrize("tasks", [0, 1])
def test_little_is_done_here(tasks: int) -> None:
    assert (
        list(in_advance(range(tasks), lambda n: threading.get_ident()))
        == [threading.get_ident()] * tasks
    )


def test_what_a_task_raises_is_raised_here_after_the_results_before() -> None:
    seen: list[float] = []
    with pytest.raises(ZeroDivisionError):
        seen.extend(in_advance([4, 2, 0, 1], lambda n: 8 / n))
    assert seen == [2.0, 4.0]
