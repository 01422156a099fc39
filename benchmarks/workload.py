"""What a workload is: contenders that do the same work, and goals that the figures are held
against."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Task = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    prepare   imports and compiles what it needs and gives the function that is timed, which returns
              its results: a sequence of numbers and arrays, the value first, or None where there is
              nothing to compare. An ImportError means that it isn't installed here
    scale     its time is multiplied by this: for peers that would take minutes and are given a
              smaller task
    expected  what its results are checked against; None: the results of the workload's baseline
    """

    name: str
    prepare: Callable[[], Task]
    scale: float = 1.0
    expected: Task | None = None


class Timings:
    """Seconds by contender, one a round; rounds are kept in step, so that ratios are of neighbours
    in time."""

    def __init__(self, seconds: dict[str, list[float]]) -> None:
        self.seconds = seconds

    def __contains__(self, name: str) -> bool:
        return name in self.seconds

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, other: str) -> float:
        """The median of the rounds' ratios."""
        pairs = zip(self.seconds[name], self.seconds[other], strict=True)
        return statistics.median(a / b for a, b in pairs)


@dataclass(frozen=True)
class Goal:
    """A figure, and what it should be: at most `limit` (at least, if so said); None is a figure
    without a goal.

    `measure` gets the timings, or does measurements of its own (of memory, say, which isn't timed).
    It returns None where there is nothing to measure: the peer that it compares with isn't
    installed.
    """

    what: str
    unit: str
    limit: float | None
    measure: Callable[[Timings], float | None]
    at_least: bool = False

    def is_met(self, figure: float) -> bool:
        assert self.limit is not None
        return figure >= self.limit if self.at_least else figure <= self.limit


@dataclass(frozen=True)
class Workload:
    """A piece of work. `summary` says what is done; the first contender that is no gradcli is the
    baseline. `lacks` says what this machine lacks for it, "" where it lacks nothing."""

    name: str
    summary: str
    contenders: Sequence[Contender]
    goals: Sequence[Goal] = ()
    rtol: float = 1e-9
    lacks: Callable[[], str] = str

    @property
    def baseline(self) -> str | None:
        return next((c.name for c in self.contenders if not c.name.startswith("gradcli")), None)


def milliseconds(name: str) -> Callable[[Timings], float | None]:
    """The measure of how long `name` takes."""
    return lambda t: t.median(name) * 1e3 if name in t else None


def ratio(name: str, other: str) -> Callable[[Timings], float | None]:
    """The measure `name` / `other`, of their times."""
    return lambda t: t.ratio(name, other) if name in t and other in t else None
