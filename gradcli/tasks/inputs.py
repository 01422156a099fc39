"""Inputs from outside: `--set x=3`, `--set x=@data.csv:price`, `--inputs values.json`. All become a
dict from name to value.

Values are Python numbers, bools, strings, None, NumPy arrays, and lists of these; what they are
for, the engine checks. Data is read as `batch` reads it, only whole. The ending of a file's name
says its format, or else its first bytes do. Every error is a GradcliError that names the file: E002
for one that can't be read, E005 for one that says something wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, did_you_mean
from ..rows.formats import ENDINGS, format_of, format_within
from ..rows.formats import STDIN as STDIN
from .input_files import fail, flatten, open_npz, read_json, read_npy
from .outside import Inputs

_NUMBER = re.compile(rb"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*")
_LOOK = 1 << 12


class Files:
    """The files that inputs come from. Standard input and pipes, which can be read once, are kept
    in temporary files while this is entered, so that several inputs may come from one."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._kept: dict[str, str] = {}

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def place(self, path: str) -> str:
        """Where a file can be read as often as one likes. Raises GradcliError (E002)."""
        if path in self._kept:
            return self._kept[path]
        try:
            with sys.stdin.buffer if path == STDIN else open(path, "rb") as file:
                if path != STDIN and os.path.isfile(path):
                    return path
                folder = self._stack.enter_context(tempfile.TemporaryDirectory())
                self._kept[path] = os.path.join(folder, "data")
                with open(self._kept[path], "wb") as kept:
                    shutil.copyfileobj(file, kept)
        except OSError as error:
            is_text = path.lstrip().startswith("{") or "=" in path
            help = "--inputs names a file; `--set x=3` gives a value" if is_text else ""
            fail(path, f"cannot read it: {error.strerror}", help, "E002")
        return self._kept[path]


def read_inputs(assignments: Iterable[str], path: str | None = None) -> Inputs:
    """The values of `--inputs path` and of each `--set NAME=VALUE`, which win."""
    with Files() as files:
        values = read_mapping(path, files) if path is not None else Inputs({}, {})
        for assignment in assignments:
            name, value = _parse_assignment(assignment, files)
            values[name] = value
        return values


def reads_stdin(assignments: Iterable[str], path: str | None) -> bool:
    """Whether any of these inputs is standard input."""
    given = [assignment.partition("=")[2].strip() for assignment in assignments]
    return path == STDIN or any(value == "@-" or value.startswith("@-:") for value in given)


def read_mapping(path: str, files: Files) -> Inputs:
    """The inputs in a file: the entries of a mapping, where nested ones become paths (`layer: {w:
    …}` is `layer.w`), the arrays of an NPZ, or the columns of a table that hold numbers."""
    place, name = files.place(path), _name(path)
    format = _format(path, place)
    if format == "npz":
        return Inputs(open_npz(place, name), {})
    if format == "json":
        return Inputs(_entries(name, read_json(place, name)), {})
    from ..rows.whole import Table

    table = Table(place, format, name)
    if not table.has_names:
        fail(name, "it doesn't name its columns", f"read it as one value: --set x=@{path}")
    return Inputs(*table.numbers())


def read_value(text: str, files: Files) -> Any:
    """The value in one file, or in the part of it that is named behind a colon: an entry of a JSON
    mapping, an array of an NPZ, a column of a table. Of a table without that, one column is a
    vector, several are a matrix."""
    path, colon, part = text.rpartition(":") if _has_part(text) else (text, "", "")
    place, name = files.place(path), _name(path)
    if colon and not part:
        fail(name, "a name is missing after the colon", f"write @{path}:NAME, or @{path} for all")
    format = _format(path, place)
    if format == "json":
        content = read_json(place, name)
        if part or isinstance(content, dict):
            return _entry(name, _entries(name, content), part)
        return content
    if format == "npz":
        return _entry(name, open_npz(place, name), part)
    if format == "npy" and not part:
        return read_npy(place, name)
    from ..rows.whole import Table

    table = Table(place, format, name)
    return table.column(part) if part else table.matrix()


def columns_of(path: str) -> tuple[str, ...]:
    """The names that may stand behind `@FILE:` of a table; none of what is no table, or can't be
    read. Only its header is."""
    if not os.path.isfile(path):
        return ()
    from ..rows.blocks import PartError
    from ..rows.whole import column_names

    try:
        return column_names(path, _format(path, path))
    except (GradcliError, PartError, OSError):
        return ()


def _has_part(text: str) -> bool:
    """Whether a colon divides a file from a part of it: it does unless there is such a file."""
    return ":" in text and not os.path.exists(text)


def _name(path: str) -> str:
    return "standard input" if path == STDIN else path


def _entry(name: str, values: dict[str, Any], part: str) -> Any:
    """The value of that name, or the only one."""
    if not part and len(values) == 1:
        return next(iter(values.values()))
    if part not in values:
        found = ", ".join(f"`{known}`" for known in values) or "none"
        fail(
            name,
            f"it has no `{part}`" if part else "which of its values?",
            did_you_mean(part, values) or f"write @{name}:NAME; there are {found}",
        )
    return values[part]


def _entries(name: str, content: Any) -> dict[str, Any]:
    """What JSON holds by name: the entries of a mapping, or of a list of rows the columns that each
    of them has."""
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        rows = [dict(flatten(row)) for row in content]
        return {key: [row[key] for row in rows] for key in rows[0] if all(key in r for r in rows)}
    if not isinstance(content, dict):
        kind = "a list" if isinstance(content, list) else f"`{content}`"
        message = f"expected a mapping from names to values, got {kind}"
        fail(name, message, 'write {"x": 3.0, …}')
    return dict(flatten(content))


def _format(path: str, place: str) -> str:
    """The format of a file; a single number without an ending is JSON. Raises GradcliError
    (E002)."""
    lower = path.lower()
    if format := "json" if lower.endswith(".json") else format_of(lower):
        return format
    with open(place, "rb") as file:
        head = file.read(_LOOK)
    if _NUMBER.fullmatch(head):
        return "json"
    format = format_within(head)
    if format == "jsonl" and os.path.getsize(place) == len(head) and head.count(b"\n") < 2:
        return "json"  # one object
    if format is None:
        endings = " ".join([".json", *ENDINGS])
        fail(_name(path), "don't know how to read this", f"the endings are {endings}", "E002")
    return format


def form_of(text: str) -> str:
    """How what isn't NAME=VALUE is written."""
    name, sign, file = text.partition("@")
    if not name.strip().isidentifier():
        return "write `--set x=3`"
    return f"write `--set {name.strip()}={sign}{file or '3'}`" + ", without blanks" * (not sign)


def _parse_assignment(text: str, files: Files) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name or not value.removeprefix("@"):
        raise GradcliError(
            Diagnostic("E001", f"--set: expected NAME=VALUE, got `{text}`", help=form_of(text))
        )
    if value.startswith("@"):
        return name, read_value(value[1:], files)
    from .constants import constant

    return name, constant(value, name)
