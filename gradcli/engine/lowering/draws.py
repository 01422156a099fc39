"""Random numbers in regions: a region takes the seed and the number of draws before it, and gives
the number after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...lang import program
from ..backends.backend import INT_MAX
from ..trace.changes import note
from ..trace.run import Run


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


def draws_so_far(run: Run) -> list[int]:
    """The seed, and the number of draws so far; an empty list if no region can go on from there."""
    counted = type(run.draws) is int and run.settings.seed <= INT_MAX
    return [run.settings.seed, run.draws] if counted else []


def go_on_from(run: Run, draws: int) -> None:
    """Sets the number of draws so far."""
    note(run, "draws")
    run.draws = draws
