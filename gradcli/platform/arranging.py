"""A process of gradcli's own is arranged for the work, first of all that it does."""

from __future__ import annotations

import sys

from . import blas, collector, memory, ownership


def arrange() -> None:
    """Arranges this process, which runs a command or is a worker of one."""
    ownership.take_over()
    collector.collect_seldom()
    if "numpy" in sys.modules:
        memory.keep_freed_memory()  # of a fork; else it is asked for when NumPy is loaded
    else:
        blas.advise()
