"""`gradcli fmt`."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options
from .layout import Wanted, fmt

Check = Annotated[
    bool,
    typer.Option("--check", help="Write nothing; exit with 1 if a file isn't in the style."),
]
Diff = Annotated[bool, typer.Option("--diff", help="Write nothing; print what would change.")]


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    check: Check = False,
    diff: Diff = False,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> int:
    """Rewrite programs in the one style, and change nothing else.

    Blanks stand around operators and behind commas, blocks are indented by four, and lines that are
    longer than 100 columns end inside brackets or after an operator. Statements stay on the lines
    that they were written on. Files with errors stay as they are. With `-` and with -e the program
    is printed.

    \b
    Examples:
      gradcli fmt .
      gradcli fmt . --diff
      gradcli fmt -e 'y=a+b*c**-d;print(y)'
    """
    return fmt(files or [], expr, Wanted(check, diff, color, quiet, traceback))
