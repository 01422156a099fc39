"""`gradcli lint`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from .. import report
from ..codes import CODES
from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from . import given, options, output
from .faults import diagnosed
from .programs import programs, programs_to_write, verify_apart
from .terminal import Terminal

Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="CODE,...", help="Look only for these: W401, or W4 for all."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="CODE,...", help="Don't look for these."),
]
Fix = Annotated[
    bool,
    typer.Option("--fix", help="Rewrite formulas in the files where that keeps their meaning."),
]
Format = Annotated[
    Literal["text", "json", "junit", "github", "sarif"] | None,
    typer.Option("--format", metavar="text|json|junit|github|sarif", help=options.FORMAT),
]


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    select: Select = None,
    ignore: Ignore = None,
    fix: Fix = False,
    format: Format = None,
    output_file: options.Output = None,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> int:
    """Find what programs could say better, without running them.

    It reports names that nothing reads or that hide others, variables that become plain values or
    hold ints, statements that never run, floats compared by `==`, formulas that lose digits, and
    loops that an operation on whole arrays replaces. `gradcli explain W412` tells about a code, and
    a comment `# lint: ignore[W412]` keeps its line quiet. The exit code is 1 if anything is found.

    \b
    Examples:
      gradcli lint .
      gradcli lint . --select W41 --fix
      gradcli lint -e 'var x = 2.0; output x**2' --format json
    """
    verify_apart(files, output_file)
    form = output.format_of(output_file, format, report.LINT_FORMATS)
    terminal = Terminal(color, quiet)
    style = terminal.style(output_file)
    if fix and (expr is not None or "-" in (files or ())):
        raise GradcliError(Diagnostic("E001", "--fix rewrites files", help="name them"))
    from ..tidy.linting import Wanted, lint_all

    wanted = Wanted(codes(select, "--select"), codes(ignore, "--ignore"), fix)
    names = programs_to_write(files, expr) if fix else programs(files, expr)
    linted = list(lint_all(names, expr, wanted, None if traceback else diagnosed))
    answer = report.render_lint(form, linted, style)
    output.write(answer, output_file, style.color, commands=form == "github")
    return max((one.exit_code for one in linted), default=0)


def codes(texts: list[str] | None, option: str) -> tuple[str, ...]:
    """The codes, or beginnings of codes, that an option names. Raises GradcliError (E001)."""
    codes = tuple(code.upper() for code in given.names(texts))
    for code in codes:
        if not any(known.startswith(code) for known in CODES if known[:1] == "W"):
            help = did_you_mean(code, CODES) or "`gradcli explain` lists all codes"
            raise GradcliError(Diagnostic("E001", f"{option}: no warning is `{code}`", help=help))
    return codes
