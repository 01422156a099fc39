"""Defaults that stand in a project: `[tool.gradcli]` of pyproject.toml, or gradcli.toml, here or in
a folder above.

    [tool.gradcli]
    precision = 12              # for every command that has --precision
    [tool.gradcli.eval]
    dtype = "float32"           # for one command

Keys are long options without their dashes; the command line wins. Whoever filled the folder wrote
these files, so that they may set only what `settings.ALLOWED` lists, and not every file is read
(`_text_of`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..diagnostics import Diagnostic, GradcliError, Source, Span, did_you_mean, printable
from .settings import ALLOWED

LARGEST = 2**20  # bytes of a settings file
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gradcli.toml", ()),
    ("pyproject.toml", ("tool", "gradcli")),
)


class Setting(NamedTuple):
    """A value for a parameter of a command, and where it stands."""

    key: str
    value: Any
    place: str


class Defaults(NamedTuple):
    """What a project sets for one command: by parameter, as click's default_map; and the files that
    were passed over."""

    settings: dict[str, Setting]
    notes: list[Diagnostic]

    @property
    def map(self) -> dict[str, Any]:
        return {name: setting.value for name, setting in self.settings.items()}


def defaults(command: str, commands: Sequence[str], load: Callable[[str], Any]) -> Defaults:
    """The defaults of a command; `load` gives each of the `commands` that there are.

    Raises GradcliError (E007) where the file of the project is wrong, for any command.
    """
    notes: list[Diagnostic] = []
    file = _find(notes)
    if file is None:
        return Defaults({}, notes)
    options = {name: _options(load(name)) for name in commands}
    anywhere = {key for known in options.values() for key in known}
    found: dict[str, dict[str, Setting]] = {name: {} for name in commands}
    for key, value in file.table.items():
        if key in options and isinstance(value, dict):
            for inner, given in value.items():
                _verify_known(file, key, inner, options[key])
                found[key][options[key][inner].name] = _setting(
                    file, key, inner, given, options[key][inner]
                )
            continue
        _verify_known(file, "", key, anywhere.union(commands))
        takers = [name for name in commands if key in options[name]]
        if not any(key in ALLOWED[name] for name in takers):
            _refuse(file, "", key)
        for name in takers:
            found[name].setdefault(
                options[name][key].name, _setting(file, name, key, value, options[name][key], at="")
            )
    return Defaults(found[command], notes)


def has_settings() -> bool:
    """Whether a project sets anything, or has a file that `defaults` would tell about."""
    notes: list[Diagnostic] = []
    return _find(notes) is not None or bool(notes)


def _setting(
    file: _File, command: str, key: str, value: Any, parameter: Any, at: str | None = None
) -> Setting:
    """A setting that the command allows; one value of an option that takes several may stand alone,
    as on the command line. Raises GradcliError (E007)."""
    section = command if at is None else at
    rule = ALLOWED[command].get(key)
    if rule is None or not rule.holds(value):
        _refuse(file, section, key, command, rule.otherwise if rule else "")
    if parameter.multiple and not isinstance(value, list):
        value = [value]
    return Setting(
        key, value, str(span) if (span := file.span(section, key)) else printable(file.name)
    )


def _options(command: Any) -> dict[str, Any]:
    """The parameters of a command by their long options, without the dashes."""
    return {
        opt[2:]: parameter
        for parameter in command.params
        for opt in parameter.opts
        if opt.startswith("--")
    }


def _verify_known(file: _File, section: str, key: str, known: Any) -> None:
    if key not in known:
        help = did_you_mean(key, known) or "keys are long options without their dashes"
        shown = f"{section}.{key}" if section else key
        raise GradcliError(
            Diagnostic(
                "E007",
                f"{file.name}: there is no setting `{shown}`",
                file.span(section, key),
                help=help,
            )
        )


def _refuse(file: _File, section: str, key: str, command: str = "", why: str = "") -> None:
    shown = f"{section}.{key}" if section else key
    whose = f" for `{command}`" if command and not section else ""
    label = why or "whoever can write this file could harm you by it"
    if whose and any(key in allowed for allowed in ALLOWED.values()):
        others = " or ".join(
            f"`[{name}]`" for name, allowed in ALLOWED.items() if key in allowed and name != command
        )
        help = f"pass `--{key}` on the command line" + (
            f", or set it for other commands, under {others}" if others else ""
        )
    else:
        help = f"pass it on the command line: `--{key}`"
    message = f"{file.name}: `{shown}` can't be set{whose} by a settings file"
    raise GradcliError(Diagnostic("E007", message, file.span(section, key), label=label, help=help))


# ---- the file ------------------------------------------------------------------------------------


class _File(NamedTuple):
    """A settings file: its path as it is shown, its text, and its table."""

    name: str
    text: str
    table: dict[str, Any]
    sections: tuple[str, ...]

    def span(self, section: str, key: str) -> Span | None:
        """Where a key stands; None where it is written in a way that isn't looked for, such as
        inside an inline table."""
        wanted = [*self.sections, *([section] if section else [])]
        current: list[str] = []
        for line in re.finditer(r"[^\n]*\n?", self.text):
            if header := re.match(r"\s*\[([^\[\]]*)\]", line[0]):
                current = [part.strip().strip("\"'") for part in header[1].split(".")]
            elif current == wanted and (
                found := re.match(r"\s*[\"']?(" + re.escape(key) + r")[\"']?\s*=", line[0])
            ):
                start = line.start() + found.start(1)
                return Span(Source(self.name, self.text), start, start + len(key))
        return None


def _find(notes: list[Diagnostic]) -> _File | None:
    """The nearest file with settings. Of those that are passed over, a note each."""
    inside = True
    for folder in _folders():
        for name, sections in _KINDS:
            path = folder / name
            text = _text_of(path, notes)
            if text is None or (sections and "gradcli" not in text):
                continue
            if not inside:
                notes.append(_passed_over(path, "it is above the repository's root"))
                continue
            table = _parse(path, text)
            for key in sections:
                table = table.get(key) or {}
                if not isinstance(table, dict):
                    raise GradcliError(Diagnostic("E007", f"{path}: `{key}` isn't a table"))
            if table or not sections:
                return _File(str(path), text, table, sections)
        inside = inside and not (folder / ".git").exists()
    return None


def _folders() -> Iterator[Path]:
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        return
    yield from (here, *here.parents)


def _text_of(path: Path, notes: list[Diagnostic]) -> str | None:
    """The text of a file; None where there is none, or it is passed over: what another user owns,
    and what is no plain file, which could keep us waiting for ever."""
    try:
        descriptor = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
        )
    except OSError:
        return None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        if hasattr(os, "geteuid") and {facts.st_uid, os.lstat(path).st_uid} != {os.geteuid()}:
            data = file.read(LARGEST)
            if path.name == "gradcli.toml" or b"gradcli" in data:
                notes.append(_passed_over(path, "another user owns it"))
            return None
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise GradcliError(Diagnostic("E007", f"{path}: it is larger than {LARGEST:,} bytes"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise GradcliError(Diagnostic("E007", f"{path}: not UTF-8 text")) from None


def _passed_over(path: Path, why: str) -> Diagnostic:
    return Diagnostic(
        "W007", f"{path} is ignored: {why}", help="give its settings on the command line"
    )


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GradcliError(
            Diagnostic("E007", f"{path}: {error}", help="it isn't valid TOML")
        ) from None
    except RecursionError:
        raise GradcliError(Diagnostic("E007", f"{path}: nested too deeply")) from None
