"""A plot in a terminal, by plotext: braille lines, or a character for each curve where there is no
colour."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any, NamedTuple

import plotext

from ..diagnostics import printable
from ..tasks.plot.results import Contour, Limits, Plot, Segment, round_values
from .plots import Panel, label, marks, panels, within, written

COLORS = ("blue", "red", "green", "magenta", "cyan", "orange")
MARKERS = ("braille", "+", "x", "o", "#", "%")
SHOWN = {"braille": "⠒"}  # the marker as the legend shows it
KINK, END, TORN, POLE = "◆", "○", "▒", "┊"
ARROWS = "→↗↑↖←↙↓↘"
SMALLEST = 8  # lines of a panel
_CODES = re.compile(r"\x1b\[[0-9;]*m")


class Screen(NamedTuple):
    """What there is to draw on: columns, lines, and whether it has colour."""

    width: int = 80
    height: int = 24
    color: bool = False


def render(plot: Plot, screen: Screen) -> str:
    """The panels one below the other, and in words where curves aren't smooth."""
    words = [line for mark in marks(plot) for line in _wrapped(mark, screen)]
    if plot.contours:
        height = max((screen.height - 2) // len(plot.contours) - 1, 2 * SMALLEST)
        parts = [_contour(plot, contour, screen, height) for contour in plot.contours]
    else:
        shown = panels(plot)
        room = max(screen.height - 1 - min(len(words), 4), 0)
        height = max(room // len(shown) - 1, SMALLEST)
        margin = max(
            len(text) for panel in shown for _, text in _ticks(panel.limits, _rows(height))
        )
        parts = [_panel(plot, panel, screen, height, margin) for panel in shown]
    return "\n".join([*parts, *words]) + "\n"


def _wrapped(line: str, screen: Screen) -> list[str]:
    return textwrap.wrap(line, screen.width, initial_indent="  ", subsequent_indent="    ")


# ---- curves --------------------------------------------------------------------------------------


def _panel(plot: Plot, panel: Panel, screen: Screen, height: int, margin: int) -> str:
    axis = plot.axes[0]
    _begin(screen, height, (axis.low, axis.high), panel.limits, margin)
    entries = []
    for k, curve in enumerate(panel.curves):
        color, marker = _look(k, screen)
        for mark in curve.marks:
            if mark.kind == "pole":
                plotext.plot([mark.x, mark.x], list(panel.limits), marker=POLE, color="gray")
        for piece in curve.pieces:
            for part in within(piece, panel.limits):
                xs, ys = [x for x, _ in part], [y for _, y in part]
                plotext.plot(xs, ys, marker=marker, color=color)
        if curve.points is not None:
            plotext.scatter(*curve.points, marker=marker, color=color)
        entries.append((SHOWN.get(marker, marker), color, label(plot, curve)))
    for k, curve in enumerate(panel.curves):
        for mark in curve.marks:
            ends = [mark.left] if mark.kind == "kink" else [mark.left, mark.right]
            inside = [y for y in ends if panel.limits[0] <= y <= panel.limits[1]]
            if inside and mark.kind != "pole":
                sign = KINK if mark.kind == "kink" else END
                color = _look(k, screen)[0]
                plotext.scatter([mark.x] * len(inside), inside, marker=sign, color=color)
    return _legend(entries, screen) + "\n" + _built(screen)


def _look(k: int, screen: Screen) -> tuple[str, str]:
    """Colour and marker of curve `k`: a colour tells curves apart, or else a character."""
    color, marker = COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]
    return color, "braille" if screen.color else marker


def _legend(entries: list[tuple[str, str, str]], screen: Screen) -> str:
    """Which curve is which, on as many lines as it takes."""
    lines, used = [""], 0
    for sign, color, text in entries:
        text = text if len(text) + 4 <= screen.width else text[: screen.width - 5] + "…"
        if used and used + len(text) + 4 > screen.width:
            lines.append("")
            used = 0
        painted = str(plotext.colorize(sign, color)) if screen.color else sign
        lines[-1] += f"  {painted} {text}"
        used += len(text) + 4
    return "\n".join(lines)


# ---- contours ------------------------------------------------------------------------------------


def _contour(plot: Plot, contour: Contour, screen: Screen, height: int) -> str:
    first, second = plot.axes
    _begin(screen, height, (first.low, first.high), (second.low, second.high))
    across, up = first.width / (2 * screen.width), second.width / (4 * height)
    for k, line in enumerate(contour.lines):
        points = [p for piece in line.pieces for p in _along(piece, across, up)]
        if points:
            xs, ys = [x for x, _ in points], [y for _, y in points]
            plotext.scatter(xs, ys, marker="braille", color=COLORS[k % len(COLORS)])
    if contour.torn:
        xs, ys = [x for x, _ in contour.torn], [y for _, y in contour.torn]
        plotext.scatter(xs, ys, marker=TORN, color="gray")
    _arrows(plot, contour, screen, height)
    for k, line in enumerate(contour.lines):
        if line.pieces:
            x, y, _, _ = line.pieces[len(line.pieces) // 2]
            plotext.text(f"{line.level:.4g}", x, y, COLORS[k % len(COLORS)], alignment="center")
    names = f"{printable(first.label)} →, {printable(second.label)} ↑"
    return f"  {printable(contour.label)}  ({names})\n" + _built(screen)


def _along(piece: Segment, across: float, up: float) -> list[tuple[float, float]]:
    """Points of a line as near to each other as dots on the screen."""
    x0, y0, x1, y1 = piece
    n = 1 + math.ceil(max(abs(x1 - x0) / across, abs(y1 - y0) / up))
    return [(x0 + (x1 - x0) * k / n, y0 + (y1 - y0) * k / n) for k in range(n)]


def _arrows(plot: Plot, contour: Contour, screen: Screen, height: int) -> None:
    """The directions of the gradient, some six columns and three lines apart."""
    if contour.along is None:
        return
    first, second = plot.axes
    places: dict[str, list[tuple[float, float]]] = {}
    for j in _spread(len(contour.y), height // 3):
        for i in _spread(len(contour.x), screen.width // 6):
            dx, dy = (part[j][i] for part in contour.along)
            if math.isfinite(dx) and math.isfinite(dy) and (dx or dy):
                turn = math.atan2(dy / second.width * height * 2, dx / first.width * screen.width)
                arrow = ARROWS[round(turn / (math.pi / 4)) % 8]
                places.setdefault(arrow, []).append((contour.x[i], contour.y[j]))
    for arrow, points in places.items():
        plotext.scatter([x for x, _ in points], [y for _, y in points], marker=arrow, color="gray")


def _spread(size: int, n: int) -> range:
    """About `n` numbers below `size`, away from the ends."""
    step = max(size // max(n, 1), 1)
    return range(step // 2, size, step)


# ---- plotext -------------------------------------------------------------------------------------


def _begin(screen: Screen, height: int, x: Limits, y: Limits, margin: int = 0) -> None:
    """An empty figure of this size, with round numbers at its axes; those on the left take at least
    `margin` columns."""
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(screen.width, height)
    plotext.xlim(*x)
    plotext.ylim(*y)
    across, up = _ticks(x, screen.width // 12), _ticks(y, _rows(height))
    plotext.xticks([value for value, _ in across], [text for _, text in across])
    plotext.yticks([value for value, _ in up], [text.rjust(margin) for _, text in up])


def _rows(height: int) -> int:
    """How many ticks a panel has room for."""
    return (height - 3) * 4 // 5


def _ticks(limits: Limits, most: int) -> list[tuple[float, str]]:
    """Round numbers and how they are written. There are so few that no two come to one line, of
    which plotext would show any."""
    values = round_values(*limits, max(most, 2))
    return list(zip(values, written(values), strict=True))


def _built(screen: Screen) -> str:
    text: Any = plotext.build()
    text = text if screen.color else _CODES.sub("", text)
    return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n"))
