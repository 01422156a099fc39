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


def spread(y: Any, eps: float, least: float = 0.0) -> Spread:
    """The spread of a curve with these values, of which rounding may have made those far below
    `least`."""
    finite = y[np.isfinite(y)]
    if not len(finite):
        return Spread(1.0, 0.0, False)
    low, inner, outer, high = (float(q) for q in np.quantile(finite, (0, 0.05, 0.95, 1)))
    size = max(abs(inner), abs(outer), least)
    rounding = max(NOISE, 64 * eps) * size
    if high - low > 20 * (outer - inner) > 20 * rounding:
        low, high = inner, outer
    if high - low > rounding:
        return Spread(high - low, rounding, False)
    return Spread(size or 1.0, rounding, True)


def spreads(channels: Any, eps: float, width: float) -> list[Spread]:
    """The spreads of a function over a range of this width, and of its derivatives."""
    first = channels[0][np.isfinite(channels[0])]
    size = float(np.median(np.abs(first))) if len(first) else 0.0
    return [spread(y, eps, size / width**k if k else 0.0) for k, y in enumerate(channels)]
