"""A small plot in SVG of a function around a point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from ..diagnostics import shortened
from .page import tag

WIDTH, HEIGHT = 320, 160
LEFT, RIGHT, TOP, BOTTOM = 8, 312, 18, 138  # of what the curve takes

Point = tuple[float, float]


def small_plot(curve: Sequence[Point], label: str, by: str) -> Element | None:
    """The function as a line that has gaps where it has no value; None where it has none beside the
    point. `label` is what it is called, and `by` what it is a function of."""
    finite = [(x, y) for x, y in curve if math.isfinite(y)]
    if len(finite) < 2:
        return None
    reach = max(abs(x) for x, _ in curve)
    low, high = min(y for _, y in finite), max(y for _, y in finite)
    height = (high - low) or 1.0
    if not math.isfinite(height):
        return None

    def at(point: Point) -> Point:
        x, y = point
        across = (x / reach + 1) / 2
        up = (y - low) / height if high > low else 0.5
        return LEFT + (RIGHT - LEFT) * across, BOTTOM - (BOTTOM - TOP) * up

    middle = (LEFT + RIGHT) / 2
    here = [at(point) for point in finite if point[0] == 0]
    lines = [_joined([at(point) for point in part]) for part in _parts(curve)]
    return tag(
        "svg",
        tag("line", x1=middle, y1=TOP, x2=middle, y2=BOTTOM, class_="axis"),
        *(tag("polyline", points=points, class_="curve") for points in lines),
        *(tag("circle", cx=f"{x:.2f}", cy=f"{y:.2f}", r=3, class_="point") for x, y in here),
        _text(LEFT, TOP - 6, shortened(f"{label} from {low:.6g} to {high:.6g}")),
        _text(LEFT, BOTTOM + 16, f"{by} − {reach:.3g}"),
        _text(middle, BOTTOM + 16, by, "middle"),
        _text(RIGHT, BOTTOM + 16, f"{by} + {reach:.3g}", "end"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{label} as a function of {by}, from {low:.6g} to {high:.6g}",
    )


def _text(x: float, y: float, text: str, anchor: str | None = None) -> Element:
    return tag("text", text, x=x, y=y, text_anchor=anchor)


def _parts(curve: Sequence[Point]) -> Iterator[list[Point]]:
    """The stretches of a curve that have values."""
    part: list[Point] = []
    for point in [*curve, (math.nan, math.nan)]:
        if math.isfinite(point[1]):
            part.append(point)
        elif part:
            yield part
            part = []


def _joined(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
