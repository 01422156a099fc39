"""What `gradcli fmt` does, apart from how typer reads its options.

Editors and hooks run it at every save, so `quickly` answers a command line of files and flags
without typer, whose start takes longer than the work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..diagnostics import printable
from . import output
from .faults import diagnosed
from .programs import programs_to_write
from .terminal import Color, Terminal

if TYPE_CHECKING:
    from ..tidy.rewriting import Rewritten

_FLAGS = {"--check": "check", "--diff": "diff", "-q": "quiet", "--quiet": "quiet"}
_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}


class Wanted(NamedTuple):
    """The options of `fmt`."""

    check: bool = False
    diff: bool = False
    color: Color = "auto"
    quiet: bool = False
    traceback: bool = False


def quickly(arguments: Sequence[str]) -> int | None:
    """The exit code of `fmt` with these arguments; None where it takes typer to understand them, or
    where the project has settings."""
    words = [word for word in arguments if word == "-" or not word.startswith("-")]
    flags = [word for word in arguments if word not in words]
    if not words or not set(flags) <= set(_FLAGS) or "_GRADCLI_COMPLETE" in os.environ:
        return None
    from .config import has_settings

    if has_settings():
        return None
    return fmt(words, None, Wanted(**{_FLAGS[flag]: True for flag in flags}))  # type: ignore[arg-type]


def fmt(files: list[str], expr: str | None, wanted: Wanted) -> int:
    """Rewrites programs, or says what would change; returns the exit code."""
    terminal = Terminal(wanted.color, wanted.quiet)
    from ..tidy.rewriting import rewrite_all

    writes = not (wanted.check or wanted.diff)
    counts = {"changed": 0, "unchanged": 0, "failed": 0}
    code = 0
    diagnoses = None if wanted.traceback else diagnosed
    for answer in rewrite_all(programs_to_write(files, expr), expr, writes, diagnoses):
        for error in answer.errors:
            terminal.diagnostic(error)
        counts["failed" if answer.errors else "changed" if answer.is_changed else "unchanged"] += 1
        code = max(code, answer.exit_code, int(wanted.check and answer.is_changed))
        if wanted.diff:
            output.write(_painted(answer.diff(), terminal.color), None, terminal.color)
        elif writes and (expr is not None or answer.name == "<stdin>"):
            _print(answer, terminal)
        elif answer.is_changed and not wanted.quiet:
            said = "reformatted" if writes else "would reformat"
            output.write(f"{said} {printable(answer.name)}\n", None)
    if expr is None and files != ["-"] and not wanted.quiet:
        print(_summary(counts, writes), file=sys.stderr if wanted.diff else sys.stdout)
    return code


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
