"""The garbage collector, and when it is in the way."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """For work that makes many objects and no cycles (a tree, a trace): the collector would search them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def keep_for_good() -> None:
    """Takes all that there is for what stays: the collector never looks at it again."""
    gc.freeze()


def collect_young() -> None:
    """Looks for cycles among what was made last, where the collector is paused for long."""
    gc.collect(0)
