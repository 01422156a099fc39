"""`gradcli trace`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError
from ..report import Style
from . import given, limits, options, output
from .answering import Job
from .programs import programs, verify_apart
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.evaluation import Options
    from ..tasks.traced import Traced


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: options.Of = None,
    wrt: options.Wrt = None,
    unfold: Annotated[
        bool, typer.Option("--unfold", help="Show every iteration of a loop, not the last alone.")
    ] = False,
    dtype: options.Dtype = "float64",
    device: options.Device = "cpu",
    seed: options.Seed = 0,
    format: Annotated[
        Literal["text", "json", "dot", "mermaid", "svg"] | None,
        typer.Option("--format", metavar="text|json|dot|mermaid|svg", help=options.FORMAT),
    ] = None,
    precision: Annotated[
        int | None,
        typer.Option(
            "--precision", metavar="N", min=1, max=17, help="Significant digits in text output."
        ),
    ] = None,
    output_file: options.Output = None,
    max_steps: options.MaxSteps = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> int:
    """List what a run recorded, operation by operation.

    Each operation has its value, its partial derivatives, the cotangent that a sweep from the
    outputs (or --of) gives it, and the bytes that it holds. With --of or --wrt only what lies
    between these is shown. Loops are folded: they show their last iteration. `--format svg` draws
    by Graphviz, or, where that isn't installed, by grandalf.

    \b
    Examples:
      gradcli trace -e 'x**2 * sin(y)' --set x=3 --set y=0.5
      gradcli trace -e 'var x = 2.0; s = x; for i in range(9) { s = s / 2 + 1 / s }; y = s'
      gradcli trace -e 'var x = 3.0; a = x**2; b = a + 1; y = a * b' --of b --wrt x
      gradcli trace -e 'var x = 3.0; y = exp(x) * x' --format mermaid
    """
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, ("text", "json", "dot", "mermaid", "svg"))
    if form == "svg":
        _verify_one(files)
        _verify_drawable()
    from ..tasks.evaluation import (
        Options,
    )  # here, so that `--help` doesn't pay for what runs programs

    wanted = Options(
        of=given.names(of),
        wrt=given.names(wrt),
        dtype=dtype,
        device=device,
        seed=seed,
        max_steps=max_steps,
        max_memory=limits.parse_memory(max_memory),
        tracks=bool(timeout or max_memory),
        ignore_extra=ignore_extra,
    )

    def traced(program: Any, values: Mapping[str, Any], wanted: Options) -> Traced:
        from ..tasks.trace import trace  # an error in the program doesn't pay for the engine

        return trace(program, values, wanted, unfold)

    def rejected(name: str, errors: list[Diagnostic]) -> Traced:
        from ..tasks.traced import Traced

        return Traced(name, diagnostics=errors)

    def rendered(answers: list[Traced], style: Style) -> str:
        from ..report.traces import render

        return render(form, answers, style) if form != "svg" else _drawn(answers, style)

    terminal = Terminal(color, quiet)
    job = Job(traced, rejected, rendered, terminal, precision, output_file)
    return job.run(files, expr, wanted, timeout, set_, inputs)


def _verify_one(files: list[str] | None) -> None:
    if files and len(programs(files, None)) > 1:
        help = "`--format dot` prints the graphs of several"
        raise GradcliError(Diagnostic("E001", "--format svg draws one program", help=help))


def _verify_drawable() -> None:
    from importlib.util import find_spec

    if shutil.which("dot") is None and find_spec("grandalf") is None:
        help = "install Graphviz, or grandalf: pip install 'gradcli[plot]'"
        message = "--format svg needs the `dot` of Graphviz, or grandalf"
        raise GradcliError(Diagnostic("E001", message, help=help))


def _drawn(answers: list[Traced], style: Style) -> str:
    """The graph of a program as SVG, by Graphviz or else by grandalf; "" where there is none.
    Raises GradcliError (E001) where it can't be drawn."""
    from ..report.traces import render

    if shutil.which("dot") is None:
        return render("svg", answers, style)
    graph = render("dot", answers, style)
    if not graph:
        return ""
    import subprocess

    done = subprocess.run(["dot", "-Tsvg"], input=graph, capture_output=True, text=True)
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise GradcliError(Diagnostic("E001", f"Graphviz can't draw the graph: {said}"))
    return done.stdout
