"""A command line that is being typed: its words, and which options and programs it has already."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# Characters where bash begins another word, though no command does: behind them, or with them.
_BEHIND, _WITH = "=:", "@"
FILES = {"FILE", "DATA", "OUT"}  # metavars of options that name a file


class Option(NamedTuple):
    """An option as its help shows it: its names, the metavar of its value ("" for a flag), the
    values that there are, and whether it may be given again."""

    names: list[str]
    metavar: str
    choices: list[str]
    repeats: bool
    help: str


class Command(NamedTuple):
    """A command as its help shows it."""

    help: str
    argument: str
    options: list[Option]

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if name in option.names), None)


def commands() -> dict[str, Command]:
    """All commands; the one called "" has the options before a command."""
    table = json.loads(Path(__file__).with_name("table.json").read_text(encoding="utf-8"))
    return {
        name: Command(help, argument, [Option(*option) for option in options])
        for name, (help, argument, options) in table.items()
    }


@dataclass(slots=True)
class Line:
    """What was typed before the cursor: `current` is the word that it is in or behind, `pending`
    the option that this word is the value of.

    given  the values of options, by the first name of each
    files  the other words
    """

    current: str
    table: dict[str, Command]
    command: str = ""
    pending: Option | None = None
    given: dict[str, list[str]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    only_files: bool = False  # after `--`

    @property
    def options(self) -> Command:
        return self.table[self.command]

    def add(self, word: str) -> None:
        """Takes the next word before the cursor."""
        if self.pending is not None:
            self.given[self.pending.names[0]].append(word)
            self.pending = None
        elif word.startswith("-") and len(word) > 1 and not self.only_files:
            self._add_option(word)
        elif not self.command and word in self.table:
            self.command = word
        else:
            self.files.append(word)

    def _add_option(self, word: str) -> None:
        if word == "--":
            self.only_files = True
            return
        name, sign, value = word.partition("=")
        option = self.options.option(name)
        if option is None and (option := self.options.option(word[:2])) is not None:
            sign, value = word[2:], word[2:]  # -eEXPR
        if option is None:
            return
        values = self.given.setdefault(option.names[0], [])
        if sign:
            values.append(value)
        elif option.metavar:
            self.pending = option


def read_words(words: Sequence[str]) -> Line:
    """The line of these words, without the name of the program; the cursor is in the last one."""
    line = Line(words[-1] if words else "", commands())
    for word in words[:-1]:
        line.add(word)
    return line


def read_bash_line(environment: Mapping[str, str]) -> tuple[Line, str]:
    """The line that bash says there is, and what bash takes for the word at the cursor."""
    text = environment.get("COMP_LINE", "")
    words = list(_split(text[: int(environment.get("COMP_POINT", "0"))]))  # counted in characters
    line = read_words(words[1:] or [""])
    breaks = environment.get("COMP_WORDBREAKS", _BEHIND + _WITH)
    starts = [line.current.rfind(c) + (c in _BEHIND) for c in _BEHIND + _WITH if c in breaks]
    return line, line.current[max(0, *starts) :]


def _split(text: str) -> Iterator[str]:
    """The words of a command line without their quotes; the last one may be open, or empty."""
    word, quote, k = "", "", 0
    begun = True
    while k < len(text):
        c = text[k]
        if c == "\\" and quote != "'" and k + 1 < len(text):
            k += 1
            word, begun = word + text[k], True
        elif quote:
            word, quote = (word, "") if c == quote else (word + c, quote)
        elif c in "'\"":
            quote, begun = c, True
        elif c.isspace():
            if begun:
                yield word
            word, begun = "", False
        else:
            word, begun = word + c, True
        k += 1
    yield word
