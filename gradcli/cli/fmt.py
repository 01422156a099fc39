"""`gradcli fmt`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..diagnostics import printable
from . import options, output
from .terminal import Terminal

if TYPE_CHECKING:
    from ..tidy.rewriting import Rewritten

Check = Annotated[
    bool,
    typer.Option("--check", help="Write nothing; exit with 1 if a file isn't in the style."),
]
Diff = Annotated[bool, typer.Option("--diff", help="Write nothing; print what would change.")]
_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}


def command(
    files: options.Files = None,
    expr: options.Expression = None,
    check: Check = False,
    diff: Diff = False,
    color: options.Color = "auto",
    quiet: options.Quiet = False,
    traceback: options.Traceback = False,
) -> int:
    """Rewrite programs in the one style, with their comments and the same meaning.

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
    terminal = Terminal(color, quiet)
    from ..tidy.rewriting import rewrite_all

    writes = not (check or diff)
    counts = {"changed": 0, "unchanged": 0, "failed": 0}
    code = 0
    for answer in rewrite_all(_without_links(files, options.programs(files, expr)), expr, writes):
        for error in answer.errors:
            terminal.diagnostic(error)
        counts["failed" if answer.errors else "changed" if answer.is_changed else "unchanged"] += 1
        code = max(code, answer.exit_code, int(check and answer.is_changed))
        if diff:
            output.write(_painted(answer.diff(), terminal.color), None, terminal.color)
        elif writes and (expr is not None or answer.name == "<stdin>"):
            _print(answer, terminal)
        elif answer.is_changed and not quiet:
            print(f"{'reformatted' if writes else 'would reformat'} {printable(answer.name)}")
    if expr is None and files != ["-"] and not quiet:
        print(_summary(counts, writes), file=sys.stderr if diff else sys.stdout)
    return code


def _without_links(files: list[str] | None, names: list[str]) -> list[str]:
    """The names but for links that were found in folders: what they lead to may be elsewhere."""
    return [n for n in dict.fromkeys(names) if n in (files or ()) or not os.path.islink(n)]


def _print(answer: Rewritten, terminal: Terminal) -> None:
    """Prints a program: as it is, or so that it can't drive a terminal."""
    output.write(answer.after if terminal.interactive else answer.after.encode(), None)


def _painted(diff: str, color: bool) -> str:
    """A diff in colours."""
    if not color:
        return diff
    lines = diff.splitlines()
    painted = [f"{_COLORS[line[0]]}{line}\x1b[0m" if line[0] in _COLORS else line for line in lines]
    return "".join([f"{line}\n" for line in painted])


def _summary(counts: dict[str, int], writes: bool) -> str:
    """`1 file reformatted, 2 files left unchanged, 1 file with errors`."""
    said = {
        "changed": "reformatted" if writes else "would be reformatted",
        "unchanged": "left unchanged" if writes else "would be left unchanged",
        "failed": "with errors",
    }
    shown = {key: n for key, n in counts.items() if n} or {"unchanged": 0}
    return ", ".join([f"{n} file{'s' * (n != 1)} {said[key]}" for key, n in shown.items()])
