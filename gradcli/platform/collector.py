"""The garbage collector, and when it is in the way."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .ownership import may_arrange, may_change

# new objects before the collector looks at them: imports and trees make many, and hardly a cycle
SELDOM = 100_000
RARELY = 1_000_000  # SymPy alone makes 150,000, all of which stay


@contextmanager
def collector_paused(stays: bool = False) -> Iterator[None]:
    """For work that makes many objects and no cycles (a tree, a trace): the collector would search
    them again and again. What `stays`, as a program does, it takes for old, and searches only when
    it searches everything."""
    if not (may_change() and gc.isenabled()):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if stays:
            _take_for_old()
        gc.enable()


def _take_for_old() -> None:
    """Takes all that there is for old, without a search; not where some is kept for good, which
    this would undo."""
    if may_arrange() and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def collect_seldom() -> None:
    """For a process that runs one command."""
    if may_arrange():
        gc.set_threshold(SELDOM)


def collect_rarely() -> None:
    """For a process that takes apart what its jobs make: hardly anything is left for the collector
    to find."""
    if may_arrange():
        gc.set_threshold(RARELY)


def keep_for_good() -> None:
    """Takes all that there is for what stays: the collector never looks at it again, not even when
    the process ends."""
    if may_arrange():
        gc.freeze()


def collect_young() -> None:
    """Looks for cycles among what was made last, where the collector is paused for long."""
    gc.collect(0)
