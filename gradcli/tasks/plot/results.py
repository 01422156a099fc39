"""What a plot shows, as plain numbers: curves in pieces that are never joined, or a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

Limits = tuple[float, float]


class Axis(NamedTuple):
    """A range of a variable, or of the element `place` of one."""

    label: str
    name: str
    place: tuple[int, ...]
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


class Mark(NamedTuple):
    """A place where a curve isn't smooth: a "kink", a "jump" or a "pole". `left` and `right` are
    the values beside it."""

    kind: str
    x: float
    left: float
    right: float


class Piece(NamedTuple):
    """Points of a curve, to be joined by a line."""

    x: list[float]
    y: list[float]


@dataclass(slots=True)
class Curve:
    """An output or its derivative of this `order` over a range; for one `member` of a family,
    `a = 2`, or "". What is data has `points` that nothing joins, and no pieces."""

    label: str
    member: str
    order: int
    pieces: list[Piece]
    marks: list[Mark]
    limits: Limits | None  # of the values worth showing; None where there are none
    points: Piece | None = None


class Segment(NamedTuple):
    """A straight line from one point to another."""

    x0: float
    y0: float
    x1: float
    y1: float


class Line(NamedTuple):
    """Where an output has the value `level`."""

    level: float
    pieces: list[Segment]


@dataclass(slots=True)
class Contour:
    """An output over two ranges, as lines of equal value, which end at the `torn` places, where
    there is a jump or a pole; and its gradient: `along[k][j][i]` is the derivative by axis `k` at
    `x[i]`, `y[j]`."""

    label: str
    lines: list[Line]
    torn: list[tuple[float, float]]
    x: list[float]
    y: list[float]
    along: tuple[list[list[float]], list[list[float]]] | None


@dataclass(slots=True)
class Plot:
    """The answer of `plot`: curves over one axis, or contours over two. `evaluations` counts the
    points at which the program was evaluated."""

    file: str
    axes: tuple[Axis, ...]
    curves: list[Curve] = field(default_factory=list)
    contours: list[Contour] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evaluations: int = 0


def round_values(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, whose distance is no less than that of so many parts."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
