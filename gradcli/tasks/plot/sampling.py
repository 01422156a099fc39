"""Where a curve is evaluated: evenly at first, then between points that a line doesn't join well,
all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .function import Function, Values
from .scales import Spread, spreads

FIRST = 129  # points, which are evenly spaced
HALF = 0.5  # of the work: the rest is for what isn't smooth
DEEPEST = 2.0**-14  # of the range: points aren't nearer to each other than this


class Samples:
    """A function at increasing points of its axis.

    even      the values at the first points
    scales    how much each channel of each output varies, but for extreme values
    rounding  how much of that rounding may have made
    """

    def __init__(self, function: Function) -> None:
        self.function, axis = function, function.axes[0]
        self.x = np.linspace(axis.low, axis.high, FIRST)
        self.values = self.even = function.at(self.x)
        self.scales: dict[str, list[float]] = {}
        self.rounding: dict[str, list[float]] = {}
        self._measure()

    def refine(self, orders: int, budget: int, tolerance: float) -> None:
        """Adds points until a line between neighbours is off by no more than `tolerance` of what a
        curve varies; `orders` are the derivatives that are shown. There are at most `budget` points
        in all, and fewer in a long program."""
        axis = self.function.axes[0]
        while (left := budget - len(self.x)) > 0:
            rough = np.zeros(len(self.x) - 1, bool)
            for label, channels in self.values.items():
                for k, y in enumerate(channels[: orders + 1]):
                    slope = channels[k + 1] if k + 1 < len(channels) else None
                    rough |= _rough(self.x, y, slope, self.least(label, k, tolerance))
            places = np.flatnonzero(rough & (np.diff(self.x) > DEEPEST * axis.width))[:left]
            room = self.function.room(budget * HALF)
            self.function.is_long |= len(places) > room
            places = places[:room]
            if not len(places):
                return
            self.add((self.x[places] + self.x[places + 1]) / 2)

    def add(self, x: Any) -> None:
        """Evaluates the function at more points, which may show that it varies more."""
        more = self.function.at(x)
        order = np.argsort(np.concatenate([self.x, x]), kind="stable")
        self.x = np.concatenate([self.x, x])[order]
        self.values = joined(self.values, more, order, len(x))
        self._measure()

    def least(self, label: str, channel: int, part: float) -> float:
        """This part of what a channel varies, or what rounding may have made of it, if that is
        more."""
        return max(part * self.scales[label][channel], self.rounding[label][channel])

    def spreads(self, label: str) -> list[Spread]:
        """How much the channels of an output vary at these points."""
        return spreads(self.x, self.values[label], self.function.eps)

    def _measure(self) -> None:
        for label in self.values:
            found = self.spreads(label)
            self.scales[label] = [spread.size for spread in found]
            self.rounding[label] = [spread.rounding for spread in found]


def joined(values: Values, more: Values, order: Any, size: int) -> Values:
    """Values at further points beside those that there are, in this order."""
    found: Values = {}
    for label, channels in values.items():
        missing = np.full((len(channels), size), np.nan)
        found[label] = np.concatenate([channels, more.get(label, missing)], axis=1)[:, order]
    return found


def _rough(x: Any, y: Any, slope: Any, tolerance: float) -> Any:
    """Which intervals a line may not be enough for: those beside a point that is off the line
    through its neighbours, and those where the slopes at the ends don't lead from one to the
    other."""
    with np.errstate(all="ignore"):
        h = np.diff(x)
        between = y[:-2] + (y[2:] - y[:-2]) * (h[:-1] / (h[:-1] + h[1:]))
        off = np.abs(y[1:-1] - between) > tolerance
        rough = np.zeros(len(h), bool)
        rough[:-1] |= off
        rough[1:] |= off
        if slope is not None:
            rough |= np.abs(np.diff(y) - h * (slope[:-1] + slope[1:]) / 2) > tolerance
    return rough
