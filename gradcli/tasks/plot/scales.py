"""How much curves vary: what tolerances, and limits of a plot, are measured by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NOISE = 5e-13  # of its size: what is computed in many steps, until it converges, varies by so much


class Spread(NamedTuple):
    """How much a curve varies, but for extreme values, and how much of that may be `rounding`;
    where that is all, the size of the curve, which `is_constant`."""

    size: float
    rounding: float
    is_constant: bool


def spread(y: Any, eps: float, weights: Any = None, least: float = 0.0) -> Spread:
    """The spread of a curve with these values, of which rounding may have made those far below
    `least`. The weights say how much of the range each value stands for; without them all are for
    as much."""
    good = np.isfinite(y)
    if not good.any():
        return Spread(1.0, 0.0, False)
    parts = None if weights is None else weights[good]
    low, inner, outer, high = _quantiles(y[good], parts, (0.0, 0.05, 0.95, 1.0))
    size = max(abs(inner), abs(outer), least)
    rounding = max(NOISE, 64 * eps) * size
    if high - low > 20 * (outer - inner) > 20 * rounding:
        low, high = inner, outer
    if high - low > rounding:
        return Spread(high - low, rounding, False)
    return Spread(size or 1.0, rounding, True)


def spreads(x: Any, channels: Any, eps: float) -> list[Spread]:
    """The spreads of a function at increasing points, and of its derivatives there."""
    weights = np.convolve(np.diff(x), (0.5, 0.5))
    first = channels[0][np.isfinite(channels[0])]
    size = float(np.median(np.abs(first))) if len(first) else 0.0
    width = x[-1] - x[0]
    return [spread(y, eps, weights, size / width**k if k else 0.0) for k, y in enumerate(channels)]


def _quantiles(y: Any, weights: Any, at: tuple[float, ...]) -> list[float]:
    """The values below which these parts of the weight lie."""
    order = np.argsort(y)
    below = np.cumsum(np.ones(len(y)) if weights is None else weights[order])
    places = np.searchsorted(below, below[-1] * np.array(at)).clip(max=len(y) - 1)
    return [float(v) for v in y[order][places]]
