"""`gradcli why`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError
from ..report import Style
from . import limits, options, output
from .programs import programs, verify_apart
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
        Literal["text", "json"],
        typer.Option("--format", metavar="text|json", help="Output format."),
    ] = "text",
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
    """Explain why a gradient is none, zero, nan, or the number that it is.

    Shows the chain of operations from the source to the target, the line where it breaks, and the
    fix. It follows values, not names, through functions, modules, containers and loops. Without
    --of and --wrt it explains the gradient of every output by every trainable variable. `gradcli
    explain REASON` explains each reason.

    \b
    Examples:
      gradcli why -e 'var x = -2.0; h = relu(x); y = h**2' --of y --wrt x
      gradcli why -e 'var x = 2.0; y = detach(x**2) * 3'
      gradcli why -e 'sum(sqrt(x))' --set 'x=[0, 4]'
    """
    verify_apart(files, output_file)
    from ..tasks.evaluation import (
        Options,
    )  # here, so that `--help` doesn't pay for what runs programs

    wanted = Options(
        of=options.names(of),
        wrt=options.names(wrt),
        dtype=dtype,
        device=device,
        seed=seed,
        max_steps=max_steps,
        max_memory=limits.parse_memory(max_memory),
        tracks=bool(timeout or max_memory),
        ignore_extra=ignore_extra,
    )
    terminal = Terminal(color, quiet)
    to_file = output_file not in (None, "-")
    style = Style(terminal.color and not to_file, precision)
    job = _Job(terminal, format, style, output_file)
    try:
        names = programs(files, expr)
        with limits.limited(
            limits.parse_timeout(timeout), wanted.max_memory, job.fail, wanted.device
        ):
            values = options.values(set_, inputs)
            for name in names:
                job.run(name, expr, values, wanted, steps)
    except GradcliError as error:
        return job.fail(*error.diagnostics)
    return job.tell()


class _Job:
    """One call of the command: the answers so far, and how they are told."""

    def __init__(self, terminal: Terminal, format: str, style: Style, path: str | None) -> None:
        self.terminal, self.format, self.style, self.path = terminal, format, style, path
        self.answers: list[Answer] = []
        self.current = ""

    def run(
        self, name: str, expr: str | None, values: Mapping[str, Any], wanted: Options, steps: int
    ) -> None:
        """Explains one program; what is wrong with it is part of its answer. A limit ends the
        job."""
        from ..tasks.programs import parse_program, program_source

        self.current = name
        try:
            source = program_source(name, expr)
            self.current = source.name
            program = parse_program(source, values)
            from ..tasks.why import explain  # an error in the program doesn't pay for the engine

            self.answers.append(explain(program, values, wanted, steps))
        except GradcliError as error:
            if error.exit_code == 4:
                raise
            self._reject(error.diagnostics)

    def fail(self, *errors: Diagnostic) -> int:
        """Ends the job early with these errors of the program that was running, or of the command
        line."""
        self._reject(list(errors))
        return self.tell()

    def tell(self) -> int:
        """Prints everything, answers first; returns the exit code."""
        from ..report.explanations import render

        try:
            answer = render(self.format, self.answers, self.style)
            if answer:
                output.write(answer, self.path, self.style.color)
        finally:
            for diagnostic in (d for answer in self.answers for d in answer.diagnostics):
                self.terminal.diagnostic(diagnostic)
        return max((answer.exit_code for answer in self.answers), default=0)

    def _reject(self, errors: list[Diagnostic]) -> None:
        from ..tasks.explanations import Answer

        self.answers.append(Answer(self.current, diagnostics=errors))
