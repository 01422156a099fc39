"""Facts about all code that a statement or a function may reach by calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...lang import program


class Reach:
    """Whether a statement or a function, or a function that it may call, `does` something, as its
    text shows."""

    def __init__(self, does: Callable[[Any], bool], *nodes: Any) -> None:
        self._does, self._known = does, dict[int, bool]()
        self.add(nodes)

    def __bool__(self) -> bool:
        return any(self._known.values())

    def add(self, nodes: Iterable[program.Function | program.Statement]) -> bool:
        """Adds functions that may be called. Returns whether one of them is the first that does
        it."""
        before = bool(self)
        for node in nodes:
            if id(node) not in self._known:
                self._known[id(node)] = self._does(node)
        return bool(self) and not before
