"""A plot as PNG, SVG, PDF or HTML, by matplotlib."""

from __future__ import annotations

import io
import math
from typing import Any

import matplotlib
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..diagnostics import printable
from ..tasks.plot.results import Contour, Plot
from .plot_page import page
from .plots import Panel, label, panels, within

WIDTH, HEIGHT = 7.0, 2.8  # inches; of a panel
ARROWS = 20  # along each axis
_PLAIN = {"Date": None}  # the same plot is the same file
_CENTRED: dict[str, Any] = {"size": "small", "ha": "center", "va": "center", "clip_on": True}
_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1}
_METADATA: dict[str, Any] = {"svg": _PLAIN, "pdf": {"CreationDate": None}}


def render(plot: Plot, format: str) -> bytes:
    """The picture; `format` is "png", "svg", "pdf", or "html" for a page with it."""
    if format == "html":
        return page(plot, render(plot, "svg")).encode()
    with matplotlib.rc_context(
        {"svg.hashsalt": "gradcli", "svg.fonttype": "none", "text.parse_math": False}
    ):
        shown = panels(plot)
        rows = len(plot.contours) or len(shown)
        height = (6.0 if plot.contours else HEIGHT) * rows
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
        for ax, contour in zip(axes, plot.contours, strict=False):
            _contour(ax, plot, contour)
        for ax, panel in zip(axes, shown, strict=False):
            _panel(ax, plot, panel)
        axes[-1].set_xlabel(printable(plot.axes[0].label))
        file = io.BytesIO()
        figure.savefig(file, format=format, dpi=150, metadata=_METADATA.get(format))
    return file.getvalue()


def _panel(ax: Any, plot: Plot, panel: Panel) -> None:
    axis = plot.axes[0]
    low, high = panel.limits
    for k, curve in enumerate(panel.curves):
        color = f"C{k}"
        lines = [p for piece in curve.pieces for p in within(piece, panel.limits)]
        ax.add_collection(LineCollection(lines, colors=color, linewidths=1.5))
        dots = curve.points or ([], [])
        look = "." if curve.points else "-"
        ax.plot(*dots, look, color=color, markersize=3, label=label(plot, curve))
        for mark in curve.marks:
            if mark.kind == "pole":
                ax.axvline(mark.x, color="0.6", linestyle=":", linewidth=1)
            elif mark.kind == "kink":
                ax.plot(mark.x, mark.left, "D", color=color, markersize=4)
            else:
                ax.plot([mark.x] * 2, [mark.left, mark.right], "o", color=color, mfc="white")
    ax.set_xlim(axis.low, axis.high)
    ax.set_ylim(low, high)
    ax.grid(alpha=0.3)
    ax.legend(loc="best", fontsize="small")


def _contour(ax: Any, plot: Plot, contour: Contour) -> None:
    first, second = plot.axes
    for k, line in enumerate(contour.lines):
        color = matplotlib.colormaps["viridis"](k / max(len(contour.lines) - 1, 1))
        ends = [((x0, y0), (x1, y1)) for x0, y0, x1, y1 in line.pieces]
        ax.add_collection(LineCollection(ends, colors=[color], linewidths=1.2))
        if line.pieces:
            x, y, _, _ = line.pieces[len(line.pieces) // 2]
            ax.text(x, y, f"{line.level:.4g}", color=color, bbox=_WHITE, **_CENTRED)
    if contour.torn:
        ax.plot(*zip(*contour.torn, strict=True), "s", color="0.7", markersize=2)
    if contour.along is not None:
        ax.quiver(*_arrows(contour), angles="xy", pivot="mid", color="0.5", width=0.002)
    ax.set_xlim(first.low, first.high)
    ax.set_ylim(second.low, second.high)
    ax.set_ylabel(printable(second.label))
    ax.set_title(printable(contour.label))


def _arrows(contour: Contour) -> tuple[list[float], list[float], list[float], list[float]]:
    """Places and directions of the gradient; how long it is, the lines of the contour show."""
    assert contour.along is not None
    found: list[tuple[float, float, float, float]] = []
    step = max(len(contour.x) // ARROWS, 1)
    for j in range(step // 2, len(contour.y), step):
        for i in range(step // 2, len(contour.x), step):
            dx, dy = (part[j][i] for part in contour.along)
            length = math.hypot(dx, dy)
            if 0 < length < math.inf:
                found.append((contour.x[i], contour.y[j], dx / length, dy / length))
    xs, ys, us, vs = ([p[k] for p in found] for k in range(4))
    return xs, ys, us, vs
