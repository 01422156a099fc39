"""Interpolation between points by straight lines."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op, OpError
from .rows import with_rows
from .rules import Shape, conj

_op = partial(Op, category="signal")


def _verify_points(xp: Any, points: Any, values: Shape) -> None:
    if points.ndim != 1 or not points.size or points.shape != values:
        raise OpError(
            f"`interp` needs as many points as values, in vectors: the shapes are {points.shape} "
            f"and {values}"
        )
    if not bool(xp.all(points[1:] >= points[:-1])):
        raise OpError(
            "`interp` needs ascending points",
            "`argsort` gives the order: `take(xp, order)` and `take(fp, order)`",
        )


def _interp(xp: Any, x: Any, points: Any, values: Any) -> Any:
    x, points, values = xp.asarray(x), xp.asarray(points), xp.asarray(values)
    _verify_points(xp, points, values.shape)
    dtype = xp.result_type(x, points, values)
    return xp.interp(x, points, values).astype(dtype if dtype.kind in "fc" else "float64")


def _segments(xp: Any, x: Any, points: Any) -> Any:
    """The number of the segment that each x lies in: at a point the one to its right, outside the
    next."""
    found = xp.searchsorted(xp.asarray(points), xp.asarray(x), side="right") - 1
    return xp.clip(found, 0, max(points.shape[0] - 2, 0))


# ---- rows (rows.py) ------------------------------------------------------------------------------


def _segment_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The segments where rows have points of their own, found by counting the points up to each
    x."""
    x, points = operands
    if not laned[1]:
        return compute(x, points)
    x = with_rows(xp, x, laned[0], n)
    found = xp.full(x.shape, -1)
    for point in points:
        found += ~(point > x)  # nan comes after all
    return xp.clip(found, 0, max(points.shape[0] - 2, 0))


def _interp_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    if not laned[1] and not laned[2]:
        return compute(*operands)
    x, points, values = (with_rows(xp, *pair, n) for pair in zip(operands, laned, strict=True))
    _verify_points(xp, points[:, 0], values.shape[:-1])
    if not bool(xp.all(points[1:] >= points[:-1])):
        return NotImplemented  # for the row's own refusal
    left = _segment_rows(xp, compute, (x, points), (True, True), options, n)
    ends, row = (left, xp.minimum(left + 1, points.shape[0] - 1)), xp.arange(n)
    (start, stop), (low, high) = ([v[end, row] for end in ends] for v in (points, values))
    slope = (high - low) / xp.where(stop == start, 1.0, stop - start)
    y = xp.where(x == stop, high, slope * (x - start) + low)
    return xp.where(x < points[0], values[0], xp.where(x >= points[-1], values[-1], y))


class _Segment:
    """The segments that x lies in: the numbers of their ends, how far x is in them (from 0 to 1),
    and their slope, 0 outside."""

    def __init__(self, m: Any, x: Any, points: Any, values: Any) -> None:
        self.left = m.interp_segments(x, points)
        self.right = m.minimum(self.left + 1, points.shape[0] - 1)
        self.m = m
        start, low = self.ends_left(points), self.ends_left(values)
        width = self.ends_right(points) - start
        way = m.where(width == 0, 0.0, (x - start) / m.where(width == 0, 1.0, width))
        self.way = m.clip(way, 0.0, 1.0)
        slope = (self.ends_right(values) - low) / m.where(width == 0, 1.0, width)
        self.slope = m.where(width == 0, 0.0, m.where(way < 0, 0.0, m.where(way > 1, 0.0, slope)))

    def ends_left(self, v: Any) -> Any:
        return self.m.take(v, self.left, axis=0)

    def ends_right(self, v: Any) -> Any:
        return self.m.take(v, self.right, axis=0)

    def back(self, g: Any, like: Any) -> Any:
        """Adds up a cotangent of the interpolated values at the ends of the segments."""
        m, shape = self.m, tuple(like.shape)
        left = m.untake(g * (1.0 - self.way), self.left, axis=0, shape=shape)
        return left + m.untake(g * self.way, self.right, axis=0, shape=shape)

    def forward(self, t: Any) -> Any:
        """Interpolates the tangents of the ends."""
        left = self.m.strict_mul(self.ends_left(t), 1.0 - self.way)
        return left + self.m.strict_mul(self.ends_right(t), self.way)


def _interp_back(k: int) -> Any:
    def back(m: Any, g: Any, y: Any, *operands: Any) -> Any:
        segment = _Segment(m, *operands)
        if k == 2:
            return segment.back(g, operands[2])
        along = g * conj(m, segment.slope)
        return along if k == 0 else segment.back(-along, operands[1])

    return back


def _interp_forward(m: Any, t: Any, y: Any, *operands: Any) -> Any:
    by_x, by_points, by_values = t
    segment = _Segment(m, *operands)
    terms = [] if by_values is None else [segment.forward(by_values)]
    terms += [] if by_x is None else [m.strict_mul(by_x, segment.slope)]
    terms += [] if by_points is None else [-m.strict_mul(segment.forward(by_points), segment.slope)]
    return sum(terms[1:], terms[0])


OPS = [
    _op(
        "interp",
        "x, xp, fp",
        "The values at x of the straight lines between points (xp, fp), constant outside.",
        compute=_interp,
        rows=_interp_rows,
        saves=("x", "xp", "fp"),
        result_shape=lambda x, xp, fp: x,
        jvp=_interp_forward,
        vjp=tuple(map(_interp_back, range(3))),
        note="at a point the derivative is that to its right, at the last that to its left",
    ),
    _op(
        "interp_segments",
        "x, xp",
        "The number of the segment that interp takes.",
        internal=True,
        compute=_segments,
        rows=_segment_rows,
        differentiable=False,
    ),
]
