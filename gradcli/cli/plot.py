"""`gradcli plot`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..diagnostics import Diagnostic, GradcliError
from . import given, limits, options, output
from .programs import program, verify_apart
from .settings import POINTS
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.evaluation import Options
    from ..tasks.plot.plotting import Request
    from ..tasks.plot.results import Plot

FILES = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".html": "html"}
FINE = {"tolerance": 1 / 1000, "grid": 120}  # in a file
COARSE = {"tolerance": 1 / 200, "grid": 48}  # in a terminal
NARROWEST, WIDEST = 24, 160  # columns


def command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="The program; - reads standard input. Or data, such as out.csv.",
            show_default=False,
        ),
    ] = None,
    expr: options.Expression = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="NAME=LOW:HIGH",
            help="The range of an input, or of an element of it; given twice, the plot is a "
            "contour. Of data a column, with a range or without.",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="NAME=VALUE,...", help="Draw a curve for each value of another input."
        ),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(
            "--order", metavar="N", min=0, max=4, help="Show derivatives up to this order [1]."
        ),
    ] = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="NAME,...", help="What to plot (default: every output)."),
    ] = None,
    points: Annotated[
        int,
        typer.Option(
            "--points",
            metavar="N",
            min=200,
            max=1_000_000,
            help="Evaluate a curve at N points at most, and a long program at fewer.",
        ),
    ] = POINTS,
    dtype: options.Dtype = "float64",
    device: options.Device = "cpu",
    seed: options.Seed = 0,
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Draw to this file, .png, .svg, .pdf or .html, instead of the terminal.",
        ),
    ] = None,
    watch: options.Watch = False,
    max_steps: options.MaxSteps = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    traceback: options.Traceback = False,
) -> int:
    """Draw outputs and derivatives over a range, or contours over two.

    In the terminal, or to a file with `-o plot.png`, .svg, .pdf or .html. Kinks, jumps and poles
    are found and marked; no line joins what isn't connected.

    \b
    Examples:
      gradcli plot -e 'x**2 * sin(x)' --over x=-3:3
      gradcli plot -e 'abs(x) / a' --over x=-1:1 --for a=0.5,1,2 --order 0
      gradcli plot -e '(1 - x)**2 + 100 * (y - x**2)**2' --over x=-2:2 --over y=-1:3
      gradcli plot -e 'var x = 1.0; y = tan(x); output y' --over x=-pi:pi --order 2
      gradcli plot out.csv --over x --of y
    """
    files = [file] if file else None
    verify_apart(files, output_file)
    picture = _picture_of(output_file)
    _verify_installed("matplotlib" if picture else "plotext")
    if watch:
        from .watching import watch as watch_files

        return watch_files(files, expr, Terminal(color, quiet))
    terminal = Terminal(color, quiet, verbose)
    from ..tasks.evaluation import Options  # here, so that `--help` doesn't pay for it

    wanted = Options(
        of=given.names(of),
        dtype=dtype,
        device=device,
        seed=seed,
        max_steps=max_steps,
        max_memory=limits.parse_memory(max_memory),
        tracks=bool(timeout or max_memory),
        ignore_extra=ignore_extra,
    )
    with limits.limited(
        limits.parse_timeout(timeout), wanted.max_memory, terminal.diagnostic, wanted.device
    ):
        from ..tasks.plot.columns import is_data

        if file is not None and is_data(file):
            _verify_of_data({"--set": set_, "--inputs": inputs, "--expr": expr})
            answer = _of_columns(file, over, wanted.of, family, order)
        else:
            request = request_of(over, family, order, points, bool(picture))
            values = given.values(set_, inputs, [file])
            answer = _of_program(program(file, expr), expr, values, wanted, request)
        _draw(answer, picture, output_file, terminal)
    for note in answer.notes:
        terminal.summary(f"note: {note}")
    return 0


def _of_program(
    name: str,
    expr: str | None,
    values: Mapping[str, Any],
    wanted: Options,
    request: Request,
) -> Plot:
    from ..tasks.plot.plotting import plot
    from ..tasks.programs import parse_program, program_source

    chosen = [axis.name for axis in request.axes]
    given = [*values, *chosen, *([request.family[0]] if request.family else [])]
    return plot(parse_program(program_source(name, expr), given), values, wanted, request)


def _of_columns(
    file: str,
    over: list[str] | None,
    of: tuple[str, ...],
    family: str | None,
    order: int | None,
) -> Plot:
    from ..tasks.plot.columns import plot_columns
    from ..tasks.plot.ranges import parse_column, parse_family

    if len(over or ()) != 1:
        help = "add `--over NAME`, the column that the others are drawn over"
        raise GradcliError(Diagnostic("E001", "a plot of data is over one column", help=help))
    members = None if family is None else parse_family(family)
    return plot_columns(file, parse_column((over or [""])[0]), of, members, order)


def _verify_of_data(given: dict[str, object]) -> None:
    """Raises GradcliError (E001) for options that only a program can take."""
    for option, value in given.items():
        if value:
            message = f"{option} doesn't go with a plot of data"
            raise GradcliError(Diagnostic("E001", message, help="leave it out"))


def request_of(
    over: list[str] | None,
    family: str | None = None,
    order: int | None = None,
    points: int = POINTS,
    fine: bool = False,
) -> Request:
    """What a plot is asked to show, as its options say it. Raises GradcliError."""
    from ..tasks.plot.plotting import Request
    from ..tasks.plot.ranges import parse_axis, parse_family

    if not over:
        raise GradcliError(Diagnostic("E001", "no range", help="add `--over x=-3:3`"))
    quality = FINE if fine else COARSE
    return Request(
        axes=tuple(map(parse_axis, over)),
        order=1 if order is None else order,
        family=None if family is None else parse_family(family),
        budget=points,
        tolerance=quality["tolerance"],
        grid=int(quality["grid"]),
    )


def _picture_of(path: str | None) -> str:
    """The format of a picture, by the ending of its name; "" for a plot of characters."""
    if path in (None, "-"):
        return ""
    ending = os.path.splitext(path)[1].lower()
    if ending == ".txt":
        return ""
    if ending not in FILES:
        help = f"the endings are {', '.join(FILES)}, and .txt for what the terminal shows"
        message = f"don't know how to draw to `{path}`"
        raise GradcliError(Diagnostic("E001", message, help=help))
    output.verify_writable(path)
    return FILES[ending]


def _verify_installed(package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        where = "to a file" if package == "matplotlib" else "in the terminal"
        help = "pip install 'gradcli[plot]'"
        raise GradcliError(Diagnostic("E001", f"a plot {where} needs {package}", help=help))


def _draw(answer: Plot, picture: str, path: str | None, terminal: Terminal) -> None:
    if picture:
        from ..report.plot_file import render

        output.write(render(answer, picture), path)
        terminal.note(f"{path}: {answer.evaluations} points evaluated")
        return
    is_colored = terminal.color and path in (None, "-")
    output.write(drawn(answer, is_colored), path, is_colored)
    terminal.note(f"{answer.evaluations} points evaluated")


def drawn(answer: Plot, is_colored: bool) -> str:
    """A plot in the characters of this terminal. Raises GradcliError where plotext isn't
    installed."""
    _verify_installed("plotext")
    from ..report.plot_terminal import Screen, render

    size = shutil.get_terminal_size((80, 24))
    width = min(max(size.columns, NARROWEST), WIDEST)
    return render(answer, Screen(width, size.lines, is_colored))
