"""The memory of frames: loops that call functions take none, however deep they are."""

from __future__ import annotations

import sys

import pytest

from gradcli.recursion import in_one_piece

resource = pytest.importorskip("resource")

CALLS = 300


def taken(depth: int) -> int:
    """How often memory was taken while a loop at this depth called a function."""
    if depth:
        return taken(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        nothing()
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)


def nothing() -> None:
    pass


@in_one_piece
def taken_at_most() -> int:
    return max(map(taken, range(400)))


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="of CPython's frames")
def test_no_depth_takes_memory_at_each_call() -> None:
    assert taken_at_most() < CALLS // 3
    assert in_one_piece(lambda a, b=0: a - b)(5, b=2) == 3
