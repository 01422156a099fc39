"""How far a job is, while somebody watches: a bar on the terminal, on standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .signals import kept_from_threads

if TYPE_CHECKING:
    from ..tasks.batch.summary import Summary

_MOMENT = 0.5  # seconds: what is done by then needs no bar
_PAUSE = 0.1  # between two pictures
_LEAST, _MOST = 8, 40  # columns of the bar itself
_GREEN, _DIM, _OFF = "\x1b[32m", "\x1b[2m", "\x1b[0m"
_HIDE, _SHOW, _CLEAR = "\x1b[?25l", "\x1b[?25h", "\r\x1b[2K"


class Bar:
    """A bar for as long as its block runs, if it is wanted and standard error is a terminal. `tell`
    says how far the job is.

    A thread draws it, so that it moves whatever the job waits for. It writes past Python's streams
    and imports nothing: a job that forks meanwhile finds none of its locks held.
    """

    def __init__(self, wanted: bool, color: bool = True) -> None:
        self._wanted, self._color = wanted and sys.stderr.isatty(), color
        self._began = 0.0
        self._told: tuple[Summary, int | None] | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Bar:
        self._began = time.monotonic()
        if self._wanted:
            self._thread = threading.Thread(target=self._draw, daemon=True)
            with kept_from_threads():
                self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def tell(self, summary: Summary, total: int | None) -> None:
        """Takes what is done so far, and of about how many rows, where that is known."""
        self._told = summary, total

    def close(self) -> None:
        """Takes the bar away, for good."""
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _draw(self) -> None:
        if self._over.wait(_MOMENT):
            return
        _write(_HIDE)
        while True:
            summary, total = self._told or (None, None)
            seconds = time.monotonic() - self._began
            _write(_CLEAR + picture(summary, total, seconds, _columns(), self._color))
            if self._over.wait(_PAUSE):
                break
        _write(_CLEAR + _SHOW)


def picture(
    summary: Summary | None, total: int | None, seconds: float, width: int, color: bool
) -> str:
    """The bar with what fits beside it: a field that doesn't is left out, the least important
    first."""
    rows, before = (summary.rows, summary.resumed) if summary else (0, 0)
    rate = (rows - before) / seconds if seconds else 0.0
    share = min(1.0, rows / total) if total else None
    fields = {
        "share": "" if share is None else f"{share:4.0%}",
        "rows": f"{rows:,} rows",
        "rate": f"{rate:,.0f} rows/s" if rate else "",
        "failed": f"{summary.failed:,} failed" if summary and summary.failed else "",
        "left": f"{_clock((total - rows) / rate)} left" if total and rate else "",
    }
    room, shown = width - 1 - _LEAST, set()
    for name in ("share", "rows", "left", "failed", "rate"):
        if fields[name] and len(fields[name]) + 1 <= room:
            room -= len(fields[name]) + 1
            shown.add(name)
    told = "".join(f" {text}" for name, text in fields.items() if name in shown)
    return _line(share, seconds, max(0, min(_MOST, _LEAST + room)), color) + told


def _line(share: float | None, seconds: float, columns: int, color: bool) -> str:
    """The bar itself; where nobody knows the share that is done, a piece of it that moves."""
    if share is None:
        piece = min(columns, 5)
        at = int(10 * seconds) % max(1, columns - piece + 1)
        parts = (" " * at, "━" * piece, " " * (columns - piece - at))
    else:
        done = int(share * columns)
        parts = ("", "━" * done, ("╺" * bool(share < 1) + "─" * columns)[: columns - done])
    return f"{parts[0]}{_GREEN}{parts[1]}{_OFF}{_DIM}{parts[2]}{_OFF}" if color else "".join(parts)


def _columns() -> int:
    with suppress(OSError, ValueError):
        return os.get_terminal_size(2).columns or 80
    return 80


def _write(text: str) -> None:
    with suppress(OSError):  # a terminal that is gone
        os.write(2, text.encode("utf-8", "replace"))


def _clock(seconds: float) -> str:
    """`0:42`, `1:02:03`."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
