"""Where a curve is evaluated: evenly at first, then between points that a line doesn't join well,
all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .function import Function, Values

FIRST = 129  # points, which are evenly spaced
DEEPEST = 2.0**-14  # of the range: points aren't nearer to each other than this


class Samples:
    """A function at increasing points of its axis. `scales` are how much each channel of each
    output varies, but for extreme values; `even` the values at the first points."""

    def __init__(self, function: Function) -> None:
        self.function, axis = function, function.axes[0]
        self.x = np.linspace(axis.low, axis.high, FIRST)
        self.values = self.even = function.at(self.x)
        self.scales = {label: np.array(list(map(scale, v))) for label, v in self.values.items()}

    def refine(self, orders: int, budget: int, tolerance: float) -> None:
        """Adds points, up to `budget` in all, until a line between neighbours is off by no more
        than `tolerance` of what a curve varies; `orders` are the derivatives that are shown."""
        axis = self.function.axes[0]
        while (room := budget - len(self.x)) > 0:
            rough = np.zeros(len(self.x) - 1, bool)
            for label, channels in self.values.items():
                for k, y in enumerate(channels[: orders + 1]):
                    slope = channels[k + 1] if k + 1 < len(channels) else None
                    rough |= _rough(self.x, y, slope, tolerance * self.scales[label][k])
            places = np.flatnonzero(rough & (np.diff(self.x) > DEEPEST * axis.width))[:room]
            if not len(places):
                return
            self.add((self.x[places] + self.x[places + 1]) / 2)

    def add(self, x: Any) -> None:
        """Evaluates the function at more points, which may show that it varies more."""
        more = self.function.at(x)
        order = np.argsort(np.concatenate([self.x, x]), kind="stable")
        self.x = np.concatenate([self.x, x])[order]
        self.values = joined(self.values, more, order, len(x))
        for label, channels in self.values.items():
            self.scales[label] = np.maximum(self.scales[label], list(map(scale, channels)))


def joined(values: Values, more: Values, order: Any, size: int) -> Values:
    """Values at further points beside those that there are, in this order."""
    found: Values = {}
    for label, channels in values.items():
        missing = np.full((len(channels), size), np.nan)
        found[label] = np.concatenate([channels, more.get(label, missing)], axis=1)[:, order]
    return found


def scale(y: Any) -> float:
    """How much a curve varies, but for the few values that a pole makes very large; 1 where it
    doesn't vary."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return 1.0
    low, inner, outer, high = (float(q) for q in np.quantile(finite, (0, 0.05, 0.95, 1)))
    if high - low > 20 * (outer - inner) > 0:
        low, high = inner, outer
    return high - low or abs(high) or 1.0


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
