"""`gradcli explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..codes import CODES, Code
from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from ..ops import OPS
from ..vocabulary import WORDS
from . import options
from .ops import word_page
from .output import write
from .terminal import Terminal


def command(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]", help="A code such as E304 or W201, or a reason such as detached."
        ),
    ] = None,
    color: options.Color = "auto",
) -> int:
    """Explain an error, warning or reason code.

    \b
    Examples:
      gradcli explain E304
      gradcli explain detached
    """
    bold = ("\x1b[1m", "\x1b[0m") if Terminal(color).color else ("", "")
    if code is None:
        write("".join([f"{name:<17}{entry.title}\n" for name, entry in CODES.items()]), None)
        return 0
    name = next((known for known in CODES if known.lower() == code.strip().lower()), "")
    if not name and code.strip() in WORDS:
        write(word_page(code.strip(), "text", bold) + "\n", None, bool(bold[0]))
        return 0
    if not name:
        help = (
            f"it is a builtin: `gradcli ops {code}` describes it"
            if code in OPS
            else did_you_mean(code.upper() if len(code) == 4 else code, CODES)
            or "`gradcli explain` lists all of them"
        )
        raise GradcliError(Diagnostic("E001", f"no such code: `{code}`", help=help))
    write(describe(name, CODES[name], bold) + "\n", None, bool(bold[0]))
    return 0


def describe(name: str, entry: Code, bold: tuple[str, str] = ("", "")) -> str:
    """The entry as text: what, an example, the fix."""
    lines = [f"{bold[0]}{name}: {entry.title}{bold[1]}", "", entry.text]
    if entry.example:
        lines += ["", "Example:", *(f"    {line}" for line in entry.example.split("\n"))]
    lines += ["", f"Fix: {entry.fix}"]
    return "\n".join(lines)
