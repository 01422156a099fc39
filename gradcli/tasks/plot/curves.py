"""Curves in pieces: what was sampled, divided where a line would join what isn't connected."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .breaks import EDGE, JUMP, POLE, SMOOTH, Break, find_breaks
from .function import Function
from .results import Curve, Limits, Mark, Piece
from .sampling import Samples
from .scales import NOISE

KINK = "kink"


def curves(
    function: Function, orders: int, budget: int, tolerance: float, member: str = ""
) -> list[Curve]:
    """The curves of all outputs of a function of one axis, and of their derivatives up to `orders`;
    for this `member` of a family."""
    samples = Samples(function)
    samples.refine(orders, budget, tolerance)
    breaks = find_breaks(samples, budget)
    return [
        _curve((label, member, k), samples, breaks[label])
        for label, channels in samples.values.items()
        if label not in function.arrays
        for k in range(min(orders + 1, function.connected[label]))
    ]


def _curve(which: tuple[str, str, int], samples: Samples, breaks: list[Break]) -> Curve:
    label, member, k = which
    x, y, even = samples.x, samples.values[label][k], samples.even[label][k]
    torn = [b for b in breaks if any(b.kinds[: k + 1])]
    pieces = list[Piece]()
    ends = [-np.inf, *(b.x for b in torn), np.inf]
    for j, (low, high) in enumerate(pairwise(ends)):
        inside = (x > low) & (x < high)
        xs, ys = x[inside], y[inside]
        if j > 0:
            xs, ys = np.append(low, xs), np.append(torn[j - 1].right[k], ys)
        if j < len(torn):
            xs, ys = np.append(xs, high), np.append(ys, torn[j].left[k])
        pieces += _finite(xs, ys)
    marks = [mark for b in breaks if (mark := _mark(b, k)) is not None]
    spread = samples.spreads(label)[k]
    has_pole = any(mark.kind == POLE for mark in marks)
    around = _around(y, spread.size) if spread.is_constant else _limits(y, even, has_pole)
    return Curve(label, member, k, pieces, marks, around)


def _finite(x: Any, y: Any) -> list[Piece]:
    """The stretches with values; a single point without one is no gap."""
    good = np.isfinite(y)
    gap = ~good
    gap[1:-1] &= gap[:-2] | gap[2:]
    runs = np.cumsum(gap)
    return [
        Piece(x[here].tolist(), y[here].tolist())
        for run in np.unique(runs[good])
        if (here := good & (runs == run)).sum() > 1
    ]


def _mark(b: Break, k: int) -> Mark | None:
    """How a place shows on the curve of channel `k`, if it does."""
    kind = b.kinds[k]
    if kind == SMOOTH and not any(b.kinds[:k]) and b.kinds[k + 1 : k + 2] == [JUMP]:
        kind = KINK
    return None if kind in (SMOOTH, EDGE) else Mark(kind, b.x, b.left[k], b.right[k])


def _around(y: Any, size: float) -> Limits:
    """The value to show of a constant; 0 where that is no more than rounding makes of its size."""
    middle = float(np.nanmedian(y))
    value = middle if abs(middle) > NOISE * size else 0.0
    return value, value


def _limits(y: Any, even: Any, has_pole: bool) -> Limits | None:
    """The values to show of a curve; beside a pole, not those that it makes large."""
    finite, even = y[np.isfinite(y)], even[np.isfinite(even)]
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    if not (has_pole and len(even)):
        return low, high
    inner, outer = (float(q) for q in np.quantile(even, (0.1, 0.9)))
    pad = (outer - inner) / 2 or 1.0
    return max(inner - pad, low), min(outer + pad, high)
