"""When places of a program are compiled: after enough work for the compiler to be loaded, and early
where a note on disk says that they were hot in an earlier process."""

from __future__ import annotations

import sys

from ...diagnostics import Span
from ..backends.tiers import policy

COMPILER = f"{__package__.rpartition('.')[0]}.lowering.frames"
EARLY = 8  # a place that was hot before is hot again after an eighth of the work


def pays_for_loading(work: int) -> bool:
    """Whether so much work pays for loading the compiler, if it isn't loaded yet."""
    return work >= policy().heat.loading or COMPILER in sys.modules


class Note:
    """The note of a place: a loop, or a function with what is done to it."""

    __slots__ = ("_place", "_work")

    def __init__(self, span: Span, *done: object) -> None:
        self._place = span, done
        self._work: int | None = None

    @property
    def work(self) -> int:
        """The work that has paid for a kernel of the place in this or an earlier process; 0 for
        none. Asks the disk once."""
        if self._work is None:
            from ..codegen.cache import remembered  # takes milliseconds to import

            self._work = remembered(self._text())
        return self._work

    def ignore(self) -> None:
        """Treats it as not there from now on: the place isn't compiled any more."""
        self._work = 0

    def leave(self, work: int) -> None:
        """Leaves the note on the disk, unless one of at least half as much work is there."""
        if work > 2 * self.work:
            from ..codegen.cache import remember

            remember(self._text(), work)
            self._work = work

    def _text(self) -> bytes:
        (source, start, end), done = self._place
        return f"hot: {start} to {end} {done} of\n{source.text}".encode()
