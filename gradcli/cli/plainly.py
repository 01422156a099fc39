"""Command lines of `eval` and `batch` that need no help: known options, each with a value that may
be any text or is one of a few words. Loading typer takes longer than a small program runs; it reads
all others, and says what is wrong with them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from .completion.line import FILES, Line, Option, commands
from .config import has_settings

_TEXTS = FILES | {  # metavars
    "EXPR",
    "NAME=VALUE",
    "NAME,...",
    "COLUMN=NAME",
    "COLUMN,...",
    "SIZE",
    "cpu|cuda|cuda:N",
    "cpu|cuda|cuda:N|cuda:all",
}
_ELSEWHERE = {"--schema", "--no-config", "-h"}  # what isn't for the command itself
_PARAMETERS = {
    "--set": "set_",
    "--map": "map_",
    "--output": "output_file",
    "--report": "report_file",
}


def quickly(name: str, words: Sequence[str]) -> int | None:
    """Runs the command of this name with these words; None where typer has to read them."""
    given = parameters(name, words)
    if given is None or has_settings():
        return None
    command = importlib.import_module(f".{name}", __package__).command
    return int(command(**given))


def parameters(command: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The parameters of the command that these words give; None where they aren't as plain as
    that."""
    line = Line("", commands(), command=command)
    for word in words:
        if line.pending is None and not line.only_files and not _is_plain(line, word):
            return None
        line.add(word)
    if line.pending is not None:
        return None
    found: dict[str, Any] = {"files": line.files} if line.files else {}
    if line.files and line.options.argument == "[FILE]":
        found = {"file": line.files[0]}
        if len(line.files) > 1:
            return None
    for name, values in line.given.items():
        option = line.options.option(name)
        if option is None or not _fits(option, values):
            return None
        long = option.names[-1]
        parameter = _PARAMETERS.get(long) or long.removeprefix("--").replace("-", "_")
        found[parameter] = values if option.repeats else values[0] if option.metavar else True
    return found


def _is_plain(line: Line, word: str) -> bool:
    """Whether a word is a file, or an option by its full name."""
    option = line.options.option(word.partition("=")[0])
    if not word.startswith("-") or word in ("-", "--"):
        return True
    return option is not None and ("=" not in word or bool(option.metavar))


def _fits(option: Option, values: Sequence[str]) -> bool:
    if option.names[0] in _ELSEWHERE:
        return False
    if len(values) > 1 and not option.repeats:
        return False
    if option.metavar in FILES and "" in values:
        return False
    if option.choices:
        return all(value in option.choices for value in values)
    return not option.metavar or option.metavar in _TEXTS
