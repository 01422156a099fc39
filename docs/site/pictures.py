"""A hook of mkdocs: the pictures of the site, which are drawn when it is built.

Each builtin that maps numbers to numbers gets a small plot of the function and its derivative, on
the page of builtins below its heading. A command of a page that draws a picture, `gradcli plot …
-o sine.svg`, is run, and the picture stands below its block.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from mkdocs.structure.files import File

from gradcli.diagnostics import Source
from gradcli.ops import BUILTINS
from gradcli.report.plots import within
from gradcli.tasks.evaluation import Options
from gradcli.tasks.plot.plotting import Request, plot
from gradcli.tasks.plot.ranges import parse_axis
from gradcli.tasks.plot.results import Curve
from gradcli.tasks.programs import parse_program

FOLDER, BUILTIN = "pictures", "pictures/builtins"
RANGE = "x=-4:4"
WIDTH, HEIGHT = 360, 190
SIDE, TOP, BOTTOM = 44, 22, 20  # margins
VALUE, SLOPE, GREY = "#2f7ed8", "#e0752d", "#888888"  # which show on light and on dark pages
# What is drawn of builtins with several operands, or that say little between -4 and 4.
CALLS = {
    "atan2": "atan2(x, 1)",
    "beta": "beta(x, 2)",
    "betainc": "betainc(2, 3, x)",
    "clip": "clip(x, -1, 2)",
    "div": "1 / x",
    "floordiv": "x // 2",
    "fmod": "fmod(x, 2)",
    "gammainc": "gammainc(2, x)",
    "hypot": "hypot(x, 1)",
    "lbeta": "lbeta(x, 2)",
    "logaddexp": "logaddexp(x, 1)",
    "maximum": "maximum(x, 1)",
    "minimum": "minimum(x, 1)",
    "mod": "x % 2",
    "pow": "x**3",
    "xlogy": "xlogy(2, x)",
    "zeta": "zeta(x, 1)",
}
LINES = ("add", "sub", "mul", "neg", "pos", "real", "imag")  # of which a plot says nothing
_COMMAND = re.compile(r"^\$ gradcli plot (.* -o (\w+\.svg))$", re.M)
_ENTRY = re.compile(r"^### (\w+)\n\n[^\n]+\n\n[^\n]+\n", re.M)  # heading, signature, sentence
_BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.M | re.S)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pictures to the site."""
    for name, call in drawn().items():
        _add(files, config, f"{BUILTIN}/{name}.svg", small_picture(name, call))
    for file in list(files.documentation_pages()):
        for options, name in _COMMAND.findall(file.content_string):
            _add(files, config, f"{FOLDER}/{name}", picture(options, name))
    return files


def on_page_markdown(markdown: str, page: Any, **given: Any) -> str:
    """The page with its pictures."""
    if page.file.src_uri == "builtins.md":
        calls = drawn()
        return _ENTRY.sub(lambda found: _with_plot(found, calls), markdown)
    return _BLOCK.sub(_with_pictures, markdown)


def drawn() -> dict[str, str]:
    """The builtins that have a plot, and what is drawn of each, a function of `x`."""
    passing = [name for name, op in BUILTINS.items() if op.passes_floats and name not in LINES]
    return {name: CALLS.get(name, f"{name}(x)") for name in passing}


def picture(options: str, name: str) -> bytes:
    """What a command draws to the file `name`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gradcli", "plot", *shlex.split(options)]
        subprocess.run(command, cwd=folder, check=True)
        return Path(folder, name).read_bytes()


def small_picture(name: str, call: str) -> str:
    """A function and its derivative in one small plot, as SVG."""
    axis = parse_axis(RANGE)
    node = parse_program(Source(name, call), ["x"])
    curves = plot(node, {}, Options(), Request((axis,), tolerance=1 / 300)).curves
    return _svg(call, curves)


def _svg(call: str, curves: list[Curve]) -> str:
    xs = [x for curve in curves for piece in curve.pieces for x in piece.x]
    left, right = min(xs), max(xs)
    limits = [curve.limits for curve in curves if curve.limits is not None]
    low, high = min(a for a, _ in limits), max(b for _, b in limits)
    if low == high:
        low, high = low - 1, high + 1

    def at(x: float, y: float) -> tuple[float, float]:
        across = (WIDTH - 2 * SIDE) * (x - left) / (right - left)
        return SIDE + across, TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low)

    svg = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {HEIGHT}")
    svg.attrib |= {"width": str(WIDTH), "font-family": "sans-serif", "font-size": "11"}
    if low <= 0 <= high:
        _line(svg, [at(left, 0), at(right, 0)], GREY, 0.5)
    if left <= 0 <= right:
        _line(svg, [at(0, low), at(0, high)], GREY, 0.5)
    for curve, color in zip(curves, (VALUE, SLOPE), strict=False):
        for piece in curve.pieces:
            for part in within(piece, (low, high)):
                _line(svg, [at(x, y) for x, y in part], color, 1.5)
    _text(svg, SIDE, TOP - 6, call, VALUE)
    _text(svg, WIDTH - SIDE, TOP - 6, "derivative", SLOPE, "end")
    _text(svg, SIDE, HEIGHT - 5, f"{left:.3g}", GREY)
    _text(svg, WIDTH - SIDE, HEIGHT - 5, f"{right:.3g}", GREY, "end")
    _text(svg, SIDE - 4, TOP + 8, f"{high:.3g}", GREY, "end")
    _text(svg, SIDE - 4, HEIGHT - BOTTOM, f"{low:.3g}", GREY, "end")
    return tostring(svg, encoding="unicode")


def _line(svg: Element, points: list[tuple[float, float]], color: str, width: float) -> None:
    line = SubElement(svg, "polyline", fill="none", stroke=color)
    line.set("points", " ".join(f"{x:.1f},{y:.1f}" for x, y in points))
    line.set("stroke-width", str(width))


def _text(svg: Element, x: float, y: float, text: str, color: str, anchor: str = "start") -> None:
    element = SubElement(svg, "text", x=str(x), y=str(y), fill=color)
    element.set("text-anchor", anchor)
    element.text = text


def _with_plot(found: re.Match[str], calls: dict[str, str]) -> str:
    if found[1] not in calls:
        return found[0]
    return f"{found[0]}\n![{calls[found[1]]} and its derivative]({BUILTIN}/{found[1]}.svg)\n"


def _with_pictures(found: re.Match[str]) -> str:
    names = [name for _, name in _COMMAND.findall(found[1])]
    return found[0] + "".join(f"\n![What the command draws]({FOLDER}/{name})\n" for name in names)


def _add(files: Any, config: Any, path: str, content: bytes | str) -> None:
    files.append(File.generated(config, path, content=content))
