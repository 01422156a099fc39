"""How far a job is, while somebody watches: a bar on the terminal, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from .signals import kept_from_threads

if TYPE_CHECKING:
    from ..tasks.batch.summary import Summary

_MOMENT = 0.5  # seconds: what is done by then needs no bar, and doesn't pay for one


class Bar:
    """A bar for as long as its block runs, if it is wanted and standard error is a terminal. `tell`
    says how far the job is."""

    def __init__(self, wanted: bool, color: bool = True) -> None:
        self._wanted, self._color = wanted and sys.stderr.isatty(), color
        self._began = 0.0
        self._lock = threading.Lock()
        self._last: dict[str, Any] = {}
        self._shown: Any = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Bar:
        self._began = time.monotonic()
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def tell(self, summary: Summary, total: int | None) -> None:
        """Takes what is done so far, and of about how many rows, where that is known."""
        if not self._wanted:
            return
        left = (
            ""
            if total is None or not summary.rate
            else f"{_clock((total - summary.rows) / summary.rate)} left"
        )
        failed = f"{summary.failed:,} failed" if summary.failed else ""
        with self._lock:
            self._last = {
                "total": total,
                "completed": summary.rows,
                "rate": summary.rate,
                "failed": failed,
                "left": left,
            }
            if self._shown is not None:
                self._shown.update(self._shown.task_ids[0], **self._last)
            elif (
                self._timer is None
            ):  # not before: the job forks when it begins, which threads make unsafe
                self._timer = threading.Timer(
                    _MOMENT - (time.monotonic() - self._began), self._appear
                )
                self._timer.daemon = True
                with kept_from_threads():
                    self._timer.start()

    def close(self) -> None:
        """Takes the bar away, for good."""
        with self._lock:
            self._wanted = False
            if self._timer is not None:
                self._timer.cancel()
            if self._shown is not None:
                self._shown.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        texts = (
            "{task.completed:,.0f} rows",
            "{task.fields[rate]:,.0f} rows/s",
            "{task.fields[failed]}",
            "{task.fields[left]}",
        )
        columns = (BarColumn(bar_width=None), TaskProgressColumn(), *map(TextColumn, texts))
        console = Console(stderr=True, no_color=not self._color)
        with self._lock:
            if not self._wanted:
                return
            self._shown = Progress(
                *columns,
                console=console,
                transient=True,
                expand=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._shown.add_task("", **self._last)
            self._shown.start()


def _clock(seconds: float) -> str:
    """`0:42`, `1:02:03`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
