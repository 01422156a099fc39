"""What the pictures of a plot have in common: panels, labels, and words about marks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..diagnostics import printable
from ..naming import on_screen
from ..tasks.plot.results import Curve, Limits, Piece, Plot

Point = tuple[float, float]

MOST_MARKS = 6  # of a kind and a curve that are listed


class Panel(NamedTuple):
    """The curves that share a scale: those of one order. `limits` are of what they show."""

    curves: list[Curve]
    limits: Limits


def panels(plot: Plot) -> list[Panel]:
    """The values, and below them the derivatives by their order."""
    found = []
    for order in sorted({curve.order for curve in plot.curves}):
        curves = [c for c in plot.curves if c.order == order]
        limits = [c.limits for c in curves if c.limits is not None]
        low = min((a for a, _ in limits), default=0.0)
        high = max((b for _, b in limits), default=0.0)
        pad = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
        found.append(Panel(curves, (low - pad, high + pad)))
    return found


def label(plot: Plot, curve: Curve) -> str:
    """`y`, `∂y/∂x`, `∂²y/∂x², a = 2`."""
    of = printable(curve.label)
    if curve.order:
        of = on_screen(of, (printable(plot.axes[0].label),) * curve.order)
    return f"{of}, {curve.member}" if curve.member else of


def marks(plot: Plot) -> list[str]:
    """Where the curves aren't smooth, in words: a line for each kind on each curve."""
    lines, name = [], printable(plot.axes[0].label)
    for curve in plot.curves:
        for kind in ("pole", "jump", "kink"):
            places = written([mark.x for mark in curve.marks if mark.kind == kind])
            if places:
                more = f" and {len(places) - MOST_MARKS} more" if len(places) > MOST_MARKS else ""
                at = ", ".join(places[:MOST_MARKS]) + more
                many = kind if len(places) == 1 else f"{kind}s"
                lines.append(f"{label(plot, curve)}: {many} at {name} = {at}")
    return lines


def written(values: Sequence[float]) -> list[str]:
    """Numbers with six digits, or as many as it takes to tell them apart."""
    for digits in range(6, 17):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(value) for value in values]


def within(piece: Piece, limits: Limits) -> list[list[Point]]:
    """The parts of a piece that lie between the limits, cut where it crosses them."""
    low, high = limits
    parts: list[list[Point]] = [[]]
    for a, b in pairwise(zip(piece.x, piece.y, strict=True)):
        inside = _cut(a, b, low, high)
        if inside is None:
            continue
        start, end = inside
        if parts[-1] and parts[-1][-1] == start:
            parts[-1].append(end)
        else:
            parts.append([start, end])
    return [part for part in parts if part]


def _cut(a: Point, b: Point, low: float, high: float) -> tuple[Point, Point] | None:
    """The part of a straight line that lies between two heights; None where none does."""
    if max(a[1], b[1]) < low or min(a[1], b[1]) > high:
        return None

    def at(point: Point) -> Point:
        y = min(max(point[1], low), high)
        if y == point[1] or b[1] == a[1]:
            return point
        return a[0] + (b[0] - a[0]) * ((y - a[1]) / (b[1] - a[1])), y

    return at(a), at(b)
