"""Columns of data over another, such as what a batch has computed: points, which nothing joins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...diagnostics import Diagnostic, GradcliError, did_you_mean
from ...rows.blocks import BadPart
from ...rows.flat import layout
from ...rows.formats import format_of
from ...rows.sources import Source, open_source
from .results import Axis, Curve, Piece, Plot

BLOCK = 2**18  # rows that are read at once
ACROSS, UP = 4000, 2000  # cells of a plot; of the points in one cell a single one is drawn


def is_data(path: str) -> bool:
    """Whether a file is one of data, by its name, and not a program."""
    return format_of(path) is not None


def plot_columns(
    path: str,
    axis: Axis,
    of: Sequence[str],
    family: tuple[str, list[float]] | None,
    order: int | None,
) -> Plot:
    """The columns `of` of a file over the column that the axis names, whose range may be nan for
    all there is; every other column, where `of` is empty. Of a family, the rows in which the column
    has one of the values. With an order of 0, no derivatives. Raises GradcliError."""
    source = open_source(path)
    name = axis.label
    among = family[0] if family else ""
    of = of or [column for column in source.names if column not in (name, among)]
    _verify(source, [name, *of, *filter(None, [among])])
    columns, unread = _read(source, list(dict.fromkeys([name, *of, *filter(None, [among])])))
    x = columns[name]
    finite = x[np.isfinite(x)]
    if not len(finite):
        raise GradcliError(Diagnostic("E002", f"{path}: `{name}` has no value in any row"))
    low = float(finite.min()) if math.isnan(axis.low) else axis.low
    high = float(finite.max()) if math.isnan(axis.high) else axis.high
    if low == high:
        low, high = low - 0.5, high + 0.5
    answer = Plot(path, (Axis(name, name, (), low, high),))
    inside = (x >= low) & (x <= high)
    members = [("", inside)]
    if family:
        members = [(f"{among} = {v:g}", inside & (columns[among] == v)) for v in family[1]]
    for column in of:
        for member, rows in members:
            curve = _curve(column, member, x[rows], columns[column][rows], answer)
            if order is None or curve.order <= order:
                answer.curves.append(curve)
    if not any(curve.points for curve in answer.curves):
        raise GradcliError(
            Diagnostic("E001", "there is nothing to plot", help="--of names columns")
        )
    answer.evaluations = len(x)
    if unread:
        answer.notes.append(f"{unread} rows can't be read, and aren't shown")
    return answer


def _verify(source: Source, names: Sequence[str]) -> None:
    for name in names:
        place = layout(name, source.columns)
        if place is None and name not in source.columns:
            known = ", ".join(source.columns[:12])
            help = did_you_mean(name, source.columns) or f"its columns are {known}"
            raise GradcliError(Diagnostic("E002", f"there is no column `{name}`", help=help))
        if place is not None and (place.shape or place.is_complex):
            help = f"its columns are {', '.join(place.columns[:4])}"
            raise GradcliError(Diagnostic("E002", f"`{name}` isn't a number", help=help))


def _read(source: Source, names: list[str]) -> tuple[dict[str, Any], int]:
    """The columns as floats, nan where there is no value; and how many rows can't be read."""
    parts: dict[str, list[Any]] = {name: [] for name in names}
    unread = 0
    for where in source.ranges(BLOCK, numeric=names):
        if isinstance(where, BadPart):
            raise GradcliError(Diagnostic("E002", f"{where.path}: {where.reason}"))
        block = where.read(names, ())
        good = np.ones(block.size, bool)
        good[list(block.rejected)] = False
        unread += len(block.rejected)
        for name in names:
            values = block.columns[name]
            if values.ndim != 1 or values.dtype.kind not in "fib":
                message = f"`{name}` has values that aren't numbers"
                raise GradcliError(Diagnostic("E002", message, help="choose columns by --of"))
            values = values.astype(np.float64)
            if name in block.missing:
                values[block.missing[name]] = np.nan
            parts[name].append(values[good])
    return {name: np.concatenate(found or [np.zeros(0)]) for name, found in parts.items()}, unread


def _curve(column: str, member: str, x: Any, y: Any, answer: Plot) -> Curve:
    """The points of a column. A derivative by what the plot is over, as a batch calls it, stands
    with those of first order."""
    by = answer.axes[0].label
    label, order = column, 0
    if column.startswith("d") and column.endswith(f"/d{by}"):
        label, order = column[1:].removesuffix(f"/d{by}"), 1
    good = np.isfinite(x) & np.isfinite(y)
    if lost := int((~good).sum()):
        answer.notes.append(f"`{column}` has no value in {lost} of {len(y)} rows")
    x, y = _thinned(x[good], y[good])
    limits = (float(y.min()), float(y.max())) if len(y) else None
    points = Piece(x.tolist(), y.tolist()) if len(y) else None
    return Curve(label, member, order, [], [], limits, points)


def _thinned(x: Any, y: Any) -> tuple[Any, Any]:
    """Points of which no two are in one cell of a fine grid."""
    if len(x) < ACROSS:
        return x, y
    cells = _cell(x, ACROSS) * (UP + 1) + _cell(y, UP)
    kept = np.sort(np.unique(cells, return_index=True)[1])
    return x[kept], y[kept]


def _cell(values: Any, parts: int) -> Any:
    low, high = values.min(), values.max()
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num((values - low) / (high - low) * parts).astype(np.int64)
