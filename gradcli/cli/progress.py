"""How far a job is, while somebody watches: a bar on the terminal, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tasks.batch.summary import Summary


def _ignore(summary: Summary, total: int | None) -> None:
    """Nobody watches."""


@contextmanager
def shown(wanted: bool) -> Iterator[Callable[[Any, int | None], None]]:
    """What is to be told of a job's progress: its summary so far, and of how many rows, where that is known."""
    if not wanted or not sys.stderr.isatty():
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    numbers = ("{task.completed:,.0f} rows", "{task.fields[rate]:,.0f} rows/s", "{task.fields[failed]}")
    columns = (BarColumn(), TaskProgressColumn(), *map(TextColumn, numbers), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=None, rate=0.0, failed="")

        def tell(summary: Summary, total: int | None) -> None:
            failed = f"{summary.failed:,} failed" if summary.failed else ""
            progress.update(bar, completed=summary.rows, total=total, rate=summary.rate, failed=failed)

        yield tell
