"""`gradcli why`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic
from ..report import Style
from . import given, limits, options, output
from .answering import Job
from .programs import verify_apart
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.evaluation import Options
    from ..tasks.explanations import Answer


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: options.Of = None,
    wrt: options.Wrt = None,
    steps: Annotated[
        int,
        typer.Option("--steps", metavar="N", min=2, help="Show at most N operations of a chain."),
    ] = 20,
    dtype: options.Dtype = "float64",
    device: options.Device = "cpu",
    seed: options.Seed = 0,
    format: Annotated[
        Literal["text", "json"] | None,
        typer.Option("--format", metavar="text|json", help=options.FORMAT),
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
    """Explain where a gradient comes from, or why there is none.

    Shows the chain of operations from the source to the target, the line where it breaks, and the
    fix. It follows values, not names, through functions, modules, containers and loops. Without
    --of and --wrt it explains the gradient of every output with respect to every trainable
    variable. `gradcli explain REASON` explains each reason.

    \b
    Examples:
      gradcli why -e 'var x = -2.0; h = relu(x); y = h**2' --of y --wrt x
      gradcli why -e 'var x = 2.0; y = detach(x**2) * 3'
      gradcli why -e 'sum(sqrt(x))' --set 'x=[0, 4]'
    """
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, ("text", "json"))
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

    def explained(program: Any, values: Mapping[str, Any], wanted: Options) -> Answer:
        from ..tasks.why import explain  # an error in the program doesn't pay for the engine

        return explain(program, values, wanted, steps)

    def rejected(name: str, errors: list[Diagnostic]) -> Answer:
        from ..tasks.explanations import Answer

        return Answer(name, diagnostics=errors)

    def rendered(answers: list[Answer], style: Style) -> str:
        from ..report.explanations import render

        return render(form, answers, style)

    terminal = Terminal(color, quiet)
    job = Job(explained, rejected, rendered, terminal, precision, output_file)
    return job.run(files, expr, wanted, timeout, set_, inputs)
