"""Notes on disk of the places of a program that were hot: the next process compiles them early."""

from __future__ import annotations

from ...diagnostics import Span

EARLY = 8  # a place that was hot before is hot again after an eighth of the work


class Note:
    """The note of a place: a loop, or a function with what is done to it."""

    __slots__ = ("_is_there", "_place")

    def __init__(self, span: Span, *done: object) -> None:
        self._place = span, done
        self._is_there: bool | None = None

    @property
    def is_there(self) -> bool:
        """Whether this or an earlier process left it. Asks the disk once."""
        if self._is_there is None:
            from ..codegen.cache import is_remembered  # takes milliseconds to import

            self._is_there = is_remembered(self._text())
        return self._is_there

    def ignore(self) -> None:
        """Treats it as not there from now on: the place isn't compiled any more."""
        self._is_there = False

    def leave(self) -> None:
        """Leaves the note on the disk, unless it is there."""
        if not self._is_there:
            from ..codegen.cache import remember

            remember(self._text())
            self._is_there = True

    def _text(self) -> bytes:
        (source, start, end), done = self._place
        return f"hot: {start} to {end} {done} of\n{source.text}".encode()
