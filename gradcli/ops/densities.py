"""What the densities of the gamma and the beta distribution, and their derivatives, have in
common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def exp_ratios(slope: Callable[[int, int], Any], i: int, j: int) -> dict[tuple[int, int], Any]:
    """∂_a^p ∂_b^q exp(h) / exp(h) for all p up to i and q up to j, from `slope(p, q)`, the
    derivatives of h."""
    orders = [(p, q) for p in range(i + 1) for q in range(j + 1)]
    slopes = {order: slope(*order) for order in orders[1:]}
    ratios: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for p, q in orders[1:]:
        dp, dq = (
            (1, 0) if p else (0, 1)
        )  # the last derivative taken; by the rule of products before it
        ratios[p, q] = sum(
            math.comb(p - dp, r)
            * math.comb(q - dq, s)
            * slopes[r + dp, s + dq]
            * ratios[p - dp - r, q - dq - s]
            for r in range(p - dp + 1)
            for s in range(q - dq + 1)
        )
    return ratios


def log_of(xp: Any, off: Any, ratio: Any) -> Any:
    """log(ratio), where ratio = 1 + off: by the one that has its digits."""
    return xp.where((off > -0.5) & (off < 1.0), xp.log1p(off), xp.log(ratio))


def weighted(xp: Any, density: Any, ratio: Any) -> Any:
    """density * ratio; where the density is 0 it falls faster than the logarithms in the ratio
    grow."""
    return xp.where(density == 0, 0.0, density * ratio)
