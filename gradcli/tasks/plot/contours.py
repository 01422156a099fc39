"""Contours over two ranges: lines of equal value on a grid, but for the cells that a jump or a pole
goes through, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .breaks import JUMP, LARGEST, LEAST, POLE, kind_of, steps, zoom
from .function import Function
from .results import Contour, Line, Segment, round_values
from .scales import spread

LEVELS = 8  # about so many


def contours(function: Function, size: int) -> list[Contour]:
    """The outputs of a function of two axes on a grid of `size` by `size` points."""
    first, second = function.axes
    x, y = np.linspace(first.low, first.high, size), np.linspace(second.low, second.high, size)
    found = function.at(np.tile(x, size), np.repeat(y, size))
    return [
        _contour(function, label, x, y, channels.reshape(-1, size, size))
        for label, channels in found.items()
        if label not in function.arrays
    ]


def _contour(function: Function, label: str, x: Any, y: Any, channels: Any) -> Contour:
    along = None
    if function.connected[label] > 1:
        along = (channels[1].tolist(), channels[2].tolist())
    torn = _torn(function, label, x, y, channels)
    values = np.where(torn, np.nan, _corners(channels[0]))
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, (0.02, 0.98)) if len(finite) else (0.0, 0.0)
    levels = round_values(float(low), float(high), LEVELS) if high > low else []
    lines = [Line(level, _pieces(x, y, values - level)) for level in levels]
    rows, columns = np.nonzero(torn)
    middle_x, middle_y = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    places = list(zip(middle_x[columns].tolist(), middle_y[rows].tolist(), strict=True))
    return Contour(label, lines, places, x.tolist(), y.tolist(), along)


def _corners(values: Any) -> Any:
    """The values at the corners of each cell, anticlockwise: (4, cells, cells)."""
    return np.stack([values[:-1, :-1], values[:-1, 1:], values[1:, 1:], values[1:, :-1]])


def _pieces(x: Any, y: Any, corners: Any) -> list[Segment]:
    """Where a function is zero: a piece for each cell that it is in, two where all edges of a cell
    are crossed. A cell with a nan has none."""
    ends = np.roll(corners, -1, axis=0)
    good = np.isfinite(corners).all(axis=0)
    with np.errstate(all="ignore"):
        crossed = ((corners > 0) != (ends > 0)) & good
        t = corners / (corners - ends)
        along_x, along_y = t * np.diff(x)[None, :], t * np.diff(y)[:, None]
    right, low, high = (
        np.broadcast_to(x[1:], good.shape),
        *(np.broadcast_to(ends[:, None], good.shape) for ends in (y[:-1], y[1:])),
    )
    left = np.broadcast_to(x[:-1], good.shape)
    at_x = np.stack([left + along_x[0], right, right - along_x[2], left])
    at_y = np.stack([low, low + along_y[1], high, high - along_y[3]])
    rows, columns = np.nonzero(crossed.any(axis=0))
    found = []
    for j, i in zip(rows.tolist(), columns.tolist(), strict=True):
        edges = np.flatnonzero(crossed[:, j, i]).tolist()
        if len(edges) == 4 and (corners[:, j, i].sum() > 0) == (corners[0, j, i] > 0):
            edges = [0, 1, 2, 3]  # the corners that are like the middle are connected
        elif len(edges) == 4:
            edges = [3, 0, 1, 2]
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            ends_of_piece = at_x[a, j, i], at_y[a, j, i], at_x[b, j, i], at_y[b, j, i]
            found.append(Segment(*map(float, ends_of_piece)))
    return found


def _torn(function: Function, label: str, x: Any, y: Any, channels: Any) -> Any:
    """The cells of which an edge crosses a jump or a pole."""
    size = len(x)
    torn = np.zeros((size - 1, size - 1), bool)
    across = _broken(function, label, x, y, channels, 1)  # edges along x, (size, size - 1)
    upward = _broken(function, label, x, y, channels, 0)
    torn |= across[:-1] | across[1:] | upward[:, :-1] | upward[:, 1:]
    return torn


def _broken(function: Function, label: str, x: Any, y: Any, channels: Any, way: int) -> Any:
    """The edges of the grid along an axis that cross a jump or a pole: on those that rise by more
    than the gradients at their ends say, the place of the steepest rise is looked for."""
    values = channels[0]
    much = spread(values.ravel(), function.eps).size
    spacing = (x if way else y)[1] - (x if way else y)[0]
    rise = np.diff(values, axis=way)
    straight = 0.0
    if len(channels) > 1:
        slope = channels[1 if way else 2]
        ends = (slope[:, :-1], slope[:, 1:]) if way else (slope[:-1], slope[1:])
        straight = spacing * (ends[0] + ends[1]) / 2
    with np.errstate(all="ignore"):
        suspect = np.abs(rise - straight) > 0.1 * np.abs(rise) + 1e-3 * much
    rows, columns = np.nonzero(suspect)
    broken = np.zeros(rise.shape, bool)
    if not len(rows):
        return broken
    start = np.array([x[columns], y[rows]])
    step = np.array([spacing, 0.0] if way else [0.0, spacing])

    def at(places: Any, t: Any) -> Any:
        points = start[:, places, None] + step[:, None, None] * t
        found = function.at(points[0].ravel(), points[1].ravel())
        return np.clip(found[label][0].reshape(t.shape), -LARGEST, LARGEST)

    ends = np.abs(x if way else y).max()
    closest, sizes = steps(ends - spacing, ends, function.eps)
    places, left, right = np.arange(len(rows)), np.zeros(len(rows)), np.ones(len(rows))
    least = np.full(len(rows), LEAST * much)
    places, left, right = zoom(at, places, left, right, closest, least)
    if not len(places):
        return broken
    beside = at(places, ((left + right) / 2)[:, None] + np.concatenate([-sizes, sizes]))
    kinds = [kind_of(v[: len(sizes)], v[len(sizes) :], much, function.eps) for v in beside]
    broken[rows[places], columns[places]] = [kind in (JUMP, POLE) for kind in kinds]
    return broken
