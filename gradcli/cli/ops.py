"""`gradcli ops`: the table of builtins, as it is run."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError
from ..ops import BUILTINS, INFIX, OPS, registry
from ..ops.description import accuracy, call, derivatives, facts, rule, smooth_domain, usage
from ..ops.elsewhere import suggestion
from ..ops.op import Op
from ..vocabulary import WORDS
from . import options
from .output import write
from .terminal import Terminal


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A builtin, an operator, or a word such as for."),
    ] = None,
    format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", metavar="text|json", help="Output format."),
    ] = "text",
    color: options.Color = "auto",
) -> int:
    """List the builtins, or describe one, or a word of the language.

    \b
    Examples:
      gradcli ops tanh
      gradcli ops '**' --format json
    """
    terminal = Terminal(color)
    bold = ("\x1b[1m", "\x1b[0m") if terminal.color else ("", "")
    if name is not None and name in WORDS and name not in OPS:
        write(word_page(name, format, bold) + "\n", None, terminal.color)
        return 0
    if name is None:
        registry.load_packages()
    chosen = list(BUILTINS.values()) if name is None else [find(name)]
    if format == "json":
        entries = [as_object(op) for op in chosen]
        told = json.dumps(entries if name is None else entries[0], ensure_ascii=False, indent=1)
    else:
        told = listing(chosen, bold) if name is None else page(chosen[0], bold)
    write(told + "\n", None, terminal.color)
    for message in registry.failures():
        terminal.diagnostic(Diagnostic("E008", message))
    return 0


def word_page(name: str, format: str, bold: tuple[str, str] = ("", "")) -> str:
    """What a word of the language does, such as `for`."""
    word = WORDS[name]
    if format == "json":
        entry = {"name": name, "usage": word.usage, "summary": word.summary, "category": "language"}
        return json.dumps(entry, ensure_ascii=False, indent=1)
    return f"{bold[0]}{word.usage}{bold[1]}\n  {word.summary}"


def find(name: str) -> Op:
    """The builtin under a name or sign. Raises GradcliError with the closest one."""
    if op := INFIX.get(name) or OPS.get(name) or registry.find(name):
        return op
    close = suggestion(name, [*OPS, *WORDS], called=True)
    raise GradcliError(
        Diagnostic("E001", f"no builtin `{name}`", help=close or "`gradcli ops` lists all of them")
    )


def listing(ops: list[Op], bold: tuple[str, str] = ("", "")) -> str:
    """All builtins under their headings, one line each."""
    headings: dict[str, list[str]] = {}
    for op in ops:
        headings.setdefault(op.category, []).append(f"  {usage(op):<42}  {op.summary}")
    return "\n\n".join(
        "\n".join([f"{bold[0]}{heading}{bold[1]}", *lines]) for heading, lines in headings.items()
    )


def page(op: Op, bold: tuple[str, str] = ("", "")) -> str:
    """Everything that the table says about one builtin."""
    lines = [f"{bold[0]}{usage(op)}{bold[1]}", f"  {op.summary}", ""]
    found = facts(op)
    width = max(len(label) for label, _ in found)
    return "\n".join([*lines, *(f"  {label:<{width}}  {text}" for label, text in found)])


def as_object(op: Op) -> dict[str, Any]:
    return {
        "name": op.name,
        "signature": call(op),
        "of_function": "" if op.of_function is None else call(op.of_function),
        "infix": op.infix,
        "summary": op.summary,
        "category": op.category,
        "derivatives": derivatives(op),
        "rule": "" if derivatives(op) else rule(op),
        "domain": smooth_domain(op),
        "convention": op.note,
        "ulps": accuracy(op),
    }
