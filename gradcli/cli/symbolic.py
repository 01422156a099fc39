"""`gradcli symbolic`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError
from . import given, limits, options, output
from .endings import LANGUAGES, ending_of
from .faults import contained
from .programs import programs, verify_apart
from .running import began
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tasks.evaluation import Options
    from ..tasks.forms import Symbolic
    from ..tasks.simplifying import Simplifier
    from ..tasks.symbolic import ClosedForms

SECONDS = 10.0  # for one program, unless --timeout says otherwise


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="NAME,...",
            help="Values to give in closed form (default: every output).",
        ),
    ] = None,
    wrt: options.Wrt = None,
    order: Annotated[
        int,
        typer.Option(
            "--order",
            metavar="N",
            min=0,
            max=6,
            help="Give derivatives up to this order; 0 for none.",
        ),
    ] = 1,
    simplify: Annotated[
        bool, typer.Option("--simplify/--no-simplify", help="Let SymPy simplify the forms.")
    ] = True,
    to: Annotated[
        Literal["text", "pretty", "latex", "python", "numpy", "c", "fortran", "julia", "rust"]
        | None,
        typer.Option(
            "--to",
            metavar="text|pretty|latex|python|numpy|c|fortran|julia|rust",
            help=(
                "Notation or programming language of the forms (default: as the ending of -o FILE "
                "says, or text)."
            ),
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json"] | None,
        typer.Option("--format", metavar="text|json", help=options.FORMAT),
    ] = None,
    output_file: options.Output = None,
    seed: options.Seed = 0,
    max_steps: options.MaxSteps = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="Time limit of each program; simplification stops then.",
            show_default="10",
        ),
    ] = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    traceback: options.Traceback = False,
) -> int:
    """Print closed forms of outputs and derivatives, by SymPy.

    A form holds for the path that the program takes at the given point. If conditions separate the
    paths, a Piecewise joins them. Programs without branches need no point.

    \b
    Examples:
      gradcli symbolic -e 'x**2 * sin(x)'
      gradcli symbolic -e 'var x = 0.5; y = x**2 if x > 0 else -x' --to latex
      gradcli symbolic -e 'exp(-x**2 / 2)' --order 2 --to c
    """
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, ("text", "json"))
    written = to or LANGUAGES.get(ending_of(output_file or ""), "text")
    from ..tasks.evaluation import Options

    seconds = limits.parse_timeout(timeout)
    job = _Job(
        Terminal(color, quiet, verbose), form, output_file, written, order, simplify, seconds
    )
    try:
        wanted = Options(
            of=given.names(of),
            wrt=given.names(wrt),
            seed=seed,
            max_steps=max_steps,
            max_memory=limits.parse_memory(max_memory),
            tracks=True,
            ignore_extra=ignore_extra,
        )
        names = programs(files, expr)
        values = given.values(set_, inputs, files)
        for name in names:
            job.run(name, expr, values, wanted)
    except GradcliError as error:
        job.reject(error.diagnostics)
    return job.tell()


def _simplifier() -> Simplifier:
    from ..tasks.simplifying import Simplifier

    return Simplifier()


class _Job:
    """One call of the command: the answers so far, and how they are told."""

    def __init__(
        self,
        terminal: Terminal,
        format: str,
        path: str | None,
        to: str,
        order: int,
        simplify: bool,
        seconds: float | None,
    ) -> None:
        self.terminal, self.format, self.path = terminal, format, path
        self.to, self.order, self.simplify, self.seconds = to, order, simplify, seconds
        self.answers: list[Symbolic] = []
        self.current = ""

    def run(self, name: str, expr: str | None, values: Mapping[str, Any], wanted: Options) -> None:
        """The closed forms of one program; what is wrong with it is part of its answer. What its
        run and the writing of its forms leave of the time goes into simplification."""
        self.current = name
        try:
            with contained(name):
                self._run(name, expr, values, wanted)
        except GradcliError as error:
            self.reject(error.diagnostics)

    def _run(self, name: str, expr: str | None, values: Mapping[str, Any], wanted: Options) -> None:
        from ..tasks.programs import parse_program, program_source

        begun = time.monotonic() if self.answers else began()
        source = program_source(name, expr)
        self.current = source.name
        program = parse_program(source, values)
        with ExitStack() as stack:
            simplifier = (
                stack.enter_context(_simplifier()) if self.simplify else None
            )  # its imports go on beside ours
            from ..tasks import symbolic

            # A time that the user gave holds for all of it; else imports don't count.
            deadline = time.monotonic() + SECONDS if self.seconds is None else begun + self.seconds
            left = max(deadline - time.monotonic(), 1e-3)
            with limits.limited(left, wanted.max_memory, self.fail, given=self.seconds or SECONDS):
                found: ClosedForms = symbolic.closed_forms(program, values, wanted, self.order)
                started = time.monotonic()
                answer = symbolic.written(found, self.to)
            if simplifier is not None:
                now = time.monotonic()
                symbolic.simplify(found, simplifier, max(deadline - now - (now - started), 0.0))
                answer = symbolic.written(found, self.to)
            self.answers.append(answer)

    def reject(self, errors: list[Diagnostic]) -> None:
        from ..tasks.forms import Symbolic

        self.answers.append(Symbolic(self.current, self.to, diagnostics=errors))

    def fail(self, *errors: Diagnostic) -> int:
        """Ends the job early, from another thread."""
        self.reject(list(errors))
        return self.tell()

    def tell(self) -> int:
        """Prints everything, answers first; returns the exit code."""
        from ..report import symbolic

        try:
            answer = symbolic.render(self.format, self.answers)
            if answer:
                output.write(answer, self.path)
        finally:
            for diagnostic in (d for found in self.answers for d in found.diagnostics):
                self.terminal.diagnostic(diagnostic)
            for note in (note for found in self.answers for note in found.notes):
                self.terminal.summary(f"note: {note}")
        return max((found.exit_code for found in self.answers), default=0)
