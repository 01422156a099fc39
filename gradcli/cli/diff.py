"""`gradcli diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError
from ..report import Style
from . import given, limits, options, output
from .programs import verify_apart
from .terminal import Terminal

if TYPE_CHECKING:
    from ..diagnostics import Source
    from ..tasks.comparison import Comparison

Versions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OLD NEW", help="The two programs; - reads standard input.", show_default=False
    ),
]
Expressions = Annotated[
    list[str] | None,
    typer.Option(
        "-e", "--expr", metavar="EXPR", help="A program itself, instead of NEW or of both files."
    ),
]


def command(
    files: Versions = None,
    expr: Expressions = None,
    set_: options.Set = None,
    inputs: options.Inputs = None,
    ignore_extra: options.IgnoreExtra = False,
    of: options.Of = None,
    wrt: options.Wrt = None,
    no_grad: options.NoGrad = False,
    points: Annotated[
        int,
        typer.Option(
            "--points",
            metavar="N",
            min=0,
            help="Also compare at N random points of the declared domains.",
        ),
    ] = 0,
    ulps: Annotated[
        int,
        typer.Option("--ulps", metavar="N", min=0, help="Numbers at most N ulps apart are equal."),
    ] = 0,
    rtol: Annotated[
        float,
        typer.Option(
            "--rtol", metavar="X", min=0, callback=options.finite, help="Relative tolerance."
        ),
    ] = 0.0,
    atol: Annotated[
        float,
        typer.Option(
            "--atol", metavar="X", min=0, callback=options.finite, help="Absolute tolerance."
        ),
    ] = 0.0,
    dtype: options.Dtype = "float64",
    device: options.Device = "cpu",
    seed: options.Seed = 0,
    format: Annotated[
        Literal["text", "json"] | None,
        typer.Option("--format", metavar="text|json", help=options.FORMAT),
    ] = None,
    output_file: options.Output = None,
    max_steps: options.MaxSteps = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> int:
    """Compare the values and gradients of two versions of a program.

    Both run on the same inputs: the declared or given ones and, with --points, random ones. Of what
    differs, the element that does most is shown, with its distance in ulps (steps from a float to
    the next). Numbers are equal if they are within --ulps, --rtol or --atol; without these they
    have to be the same to the last bit, but for the sign of zeros. What the programs print and
    expect isn't compared.

    The exit code is 0 if everything is equal; 1 if anything differs, or if only one version has an
    output or trainable variable; 3 if a program fails.

    \b
    Examples:
      gradcli diff -e 'x * x' -e 'x**2' --set x=3
      gradcli diff -e 'var x = 0.1 in (0, 1); y = x / 3' -e 'var x = 0.1; y = x * (1 / 3)' \\
        --points 100 --ulps 2
    """
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, ("text", "json"))
    from ..tasks.comparison import Comparison, Tolerance
    from ..tasks.evaluation import Options
    from ..tasks.programs import parse_programs

    wanted = Options(
        of=given.names(of),
        wrt=given.names(wrt),
        grad=not no_grad,
        dtype=dtype,
        device=device,
        seed=seed,
        max_steps=max_steps,
        max_memory=limits.parse_memory(max_memory),
        tracks=bool(timeout or max_memory),
        ignore_extra=ignore_extra,
        mode="reverse",
    )
    terminal = Terminal(color, quiet)
    style = terminal.style(output_file)
    names = _names(files or [], expr or [])

    def tell(found: Comparison) -> int:
        return _tell(found, form, style, terminal, output_file)

    def fail(*errors: Diagnostic) -> int:
        return tell(Comparison(*names, diagnostics=list(errors)))

    try:
        with limits.limited(limits.parse_timeout(timeout), wanted.max_memory, fail, device):
            values = given.values(set_, inputs, files)
            programs = parse_programs(_sources(files or [], expr or []), values)
            from ..tasks.comparing import compare  # an error in a program doesn't pay for it

            found = compare(
                programs[0], programs[1], values, wanted, points, Tolerance(ulps, rtol, atol)
            )
    except GradcliError as error:
        return fail(*error.diagnostics)
    return tell(found)


def _names(files: list[str], texts: list[str]) -> tuple[str, str]:
    """What the two versions are called. Raises GradcliError (E001) unless there are two."""
    names = ["<stdin>" if file == "-" else file for file in files] + ["<expr>"] * len(texts)
    if len(names) != 2:
        said = f"{len(names)} program{'s' * (len(names) != 1)}, where two are compared"
        help = "write `gradcli diff OLD NEW`, or `-e EXPR` in place of a file"
        raise GradcliError(Diagnostic("E001", said, help=help))
    if files.count("-") > 1:
        raise GradcliError(Diagnostic("E001", "standard input is named twice", help="name it once"))
    return names[0], names[1]


def _sources(files: list[str], texts: list[str]) -> list[Source]:
    from ..diagnostics import Source
    from ..tasks.programs import read_source

    return [*map(read_source, files), *(Source("<expr>", text) for text in texts)]


def _tell(
    found: Comparison, format: str, style: Style, terminal: Terminal, path: str | None
) -> int:
    """Prints everything, the answer first; returns the exit code."""
    from ..report.comparison import render

    try:
        if answer := render(format, found, style):
            output.write(answer, path, style.color)
    finally:
        for note in found.notes:
            terminal.summary(f"note: {note}")
        for diagnostic in found.diagnostics:
            terminal.diagnostic(diagnostic)
    return found.exit_code
