"""Sequences that a `for` loop goes over: the items of lists, the rows of arrays, or several of
these side by side. Items can be taken a few at a time, and an item is read when the loop comes to
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import List
from .access import read_index


class Source(Protocol):
    """A sequence of so many items."""

    size: int

    def item(self, k: int) -> Any: ...


class Listed:
    """The items of a list."""

    __slots__ = ("items", "size")

    def __init__(self, items: list[Any]) -> None:
        self.items, self.size = items, len(items)

    def item(self, k: int) -> Any:
        return self.items[k]


class Rows:
    """The rows of an array, or the elements of one of one axis."""

    __slots__ = ("_run", "_site", "size", "value")

    def __init__(self, run: Run, site: Site, value: Any, size: int) -> None:
        self._run, self._site, self.value, self.size = run, site, value, size

    def item(self, k: int) -> Any:
        return read_index(self._run, self._site, self.value, (k,))


class Counted:
    """Ints from 0 on."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def item(self, k: int) -> int:
        return k


class Zipped:
    """Lists of items of several sequences, up to the end of the shortest."""

    __slots__ = ("parts", "size")

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts, self.size = parts, min([part.size for part in parts], default=0)

    def item(self, k: int) -> List:
        return List([part.item(k) for part in self.parts])


class Window:
    """The items of a sequence from `start` on, before `stop`; all of them, if nothing else is said.
    A slice of it is a window, too."""

    __slots__ = ("source", "start", "stop")

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        self.source, self.start = source, start
        self.stop = source.size if stop is None else stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, part: slice) -> Window:
        places = range(self.start, self.stop)[part]
        return Window(self.source, places.start, max(places.start, places.stop))

    def __iter__(self) -> Iterator[Any]:
        if type(self.source) is Listed:
            return iter(self.source.items[self.start : self.stop])
        return _Items(self.source, self.start, self.stop)


class _Items:
    """An iterator that knows how many items are left."""

    __slots__ = ("_at", "_item", "_stop")

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self._item, self._at, self._stop = source.item, start, stop

    def __iter__(self) -> _Items:
        return self

    def __next__(self) -> Any:
        k = self._at
        if k >= self._stop:
            raise StopIteration
        self._at = k + 1
        return self._item(k)

    def __length_hint__(self) -> int:
        return self._stop - self._at
