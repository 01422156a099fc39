"""What may stand at the cursor: commands, options, their values, and names of the program that the
line is about."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .line import FILES, Line, Option

if TYPE_CHECKING:
    from ...tasks.names import Names

LARGEST = 1_000_000  # bytes of a program that is read while somebody types

_PLAIN = re.compile(r"[\w./%+-]+")


class Reply(NamedTuple):
    """What may stand at the cursor.

    kind   "words"; "parts", which more may follow without a blank; "files"; or "programs": files
           that end in .tg, and folders
    prefix of the word at the cursor what is no part of the name of a file
    words  the words with what they mean
    """

    kind: str
    prefix: str = ""
    words: Mapping[str, str] = {}


def candidates(line: Line) -> Reply:
    """What may stand at the cursor."""
    if line.pending is not None:
        return _values(line, line.pending, "", line.current)
    if line.current.startswith("-") and not line.only_files:
        name, sign, value = line.current.partition("=")
        option = line.options.option(name)
        if sign and option is not None and option.metavar:
            return _values(line, option, name + sign, value)
        return Reply("words", words=dict(_options(line)))
    if not line.command:
        return Reply("words", words={n: c.help for n, c in line.table.items() if n})
    if line.options.argument == "[NAME]":
        return Reply("words", words=_builtins())
    if line.options.argument == "[CODE]":
        return Reply("words", words=_codes())
    return Reply("programs")


def _options(line: Line) -> Iterator[tuple[str, str]]:
    for option in line.options.options:
        if option.repeats or option.names[0] not in line.given:
            yield from ((name, option.help) for name in option.names)


# ---- the value of an option ----------------------------------------------------------------------


def _values(line: Line, option: Option, prefix: str, value: str) -> Reply:
    """What may be the value of an option, which stands behind `prefix` in the word at the
    cursor."""
    name = option.names[0]
    if option.choices or "|" in option.metavar:
        choices = option.choices or [c for c in option.metavar.split("|") if c == c.lower()]
        return Reply("words", words={prefix + choice: "" for choice in choices})
    if option.metavar in FILES:
        return Reply("files", prefix)
    if option.metavar in ("NAME=VALUE", "NAME=LOW:HIGH", "NAME=VALUE,..."):
        return _assignment(line, name, prefix, value)
    if name in LISTS:
        return _list(LISTS[name](line), prefix, value)
    return Reply("words")


def _assignment(line: Line, option: str, prefix: str, value: str) -> Reply:
    """`x=` for the inputs that have no value yet; files after `x=@`, and after `x=@FILE:` the
    columns of that file."""
    name, sign, value = value.partition("=")
    if sign and option == "--set" and value.startswith("@"):
        prefix += f"{name}=@"
        path, colon, _ = value[1:].rpartition(":")
        if colon and (columns := _columns(path)):
            return Reply("words", words={f"{prefix}{path}:{c}": "column" for c in columns})
        return Reply("files", prefix)
    if sign:
        return Reply("words")
    given = {text.partition("=")[0] for text in line.given.get(option, [])}
    inputs = _names(line).inputs.items()
    return Reply("parts", words={f"{prefix}{n}=": kind for n, kind in inputs if n not in given})


def _list(known: dict[str, str], prefix: str, value: str) -> Reply:
    """One more name of a list with commas; a blank follows where there are no others."""
    before, comma, _ = value.rpartition(",")
    begun = prefix + before + comma
    left = {name: help for name, help in known.items() if name not in before.split(",")}
    kind = "parts" if len(left) > 1 else "words"
    return Reply(kind, words={begun + name: help for name, help in left.items()})


def _methods(line: Line) -> dict[str, str]:
    from ...tasks.check.methods import METHODS

    return METHODS


def _lint_codes(line: Line) -> dict[str, str]:
    return {name: title for name, title in _codes().items() if name.startswith("W4")}


def _targets(line: Line) -> dict[str, str]:
    names = _names(line)
    return dict.fromkeys(names.values, "value") | names.inputs


def _sources(line: Line) -> dict[str, str]:
    names = _names(line)
    return names.inputs | dict.fromkeys(names.values, "value")


# The options whose values are lists of names, and which names those are.
LISTS: dict[str, Callable[[Line], dict[str, str]]] = {
    "--methods": _methods,
    "--select": _lint_codes,
    "--ignore": _lint_codes,
    "--of": _targets,
    "--wrt": _sources,
}


# ---- names ---------------------------------------------------------------------------------------


def _builtins() -> dict[str, str]:
    from ...ops import BUILTINS

    return {name: op.summary for name, op in BUILTINS.items()}


def _codes() -> dict[str, str]:
    from ...codes import CODES

    return {name: code.title for name, code in CODES.items()}


def _names(line: Line) -> Names:
    """The names of all programs on the line together."""
    from ...diagnostics import Source
    from ...tasks.names import Names, names_of

    texts = [*line.given.get("-e", []), *filter(None, map(_text, line.files))]
    inputs: dict[str, str] = {}
    values: dict[str, None] = {}
    for text in texts:
        found = names_of(Source("<typed>", text))
        inputs |= found.inputs
        values |= dict.fromkeys(found.values)
    return Names(inputs, list(values))


def _columns(path: str) -> list[str]:
    """The columns of a table that no shell has to quote."""
    from ...tasks.inputs import columns_of

    return [name for name in columns_of(path) if _PLAIN.fullmatch(path + name)]


def _text(path: str) -> str:
    """The text of a program; "" of what is no file, or too large to be read now."""
    path = os.path.expanduser(path)
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return ""
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):  # no name of a file: a null byte
        return ""
