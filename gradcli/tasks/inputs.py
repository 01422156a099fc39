"""Inputs from outside: `--set x=3`, `--set x=@x.npy`, `--inputs values.json`. All become a dict
from name to value.

Values are Python numbers, bools, strings, None, NumPy arrays, and lists of these; what they are
for, the engine checks. Files are data: nothing in them is executed (arrays of Python objects are
refused). Every error is a GradcliError that names the file: E002 for one that can't be read, E005
for one that says something wrong.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NoReturn

from ..diagnostics import Diagnostic, GradcliError

_MAX_NESTING = 200  # as in the language
_NONFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def read_inputs(assignments: Iterable[str], path: str | None = None) -> dict[str, Any]:
    """The values of `--inputs path` and of each `--set NAME=VALUE`, which win."""
    values = read_mapping(path) if path is not None else {}
    for assignment in assignments:
        name, value = _parse_assignment(assignment)
        values[name] = value
    return values


def read_mapping(path: str) -> dict[str, Any]:
    """The inputs in a .json mapping or an .npz; nested dicts become paths (`layer: {w: …}` is
    `layer.w`)."""
    if path.lower().endswith(".npz"):
        return dict(open_npz(path))
    values = read_json(path)
    if not isinstance(values, dict):
        fail(
            path,
            f"expected a mapping from names to values, got {_kind(values)}",
            'write {"x": 3.0, …}',
        )
    return dict(flatten(values))


def read_value(path: str) -> Any:
    """The value in one file, by its ending: .json, .csv, .npy, .npz:name."""
    stem, _, member = (
        path.rpartition(":")
        if re.search(r"\.npz:[^/\\]*$", path, re.IGNORECASE)
        else (path, "", "")
    )
    if stem.lower().endswith(".npz"):
        arrays = open_npz(stem)
        if not member and len(arrays) == 1:
            return next(iter(arrays.values()))
        if member not in arrays:
            found = ", ".join(f"`{name}`" for name in arrays) or "none"
            fail(
                stem,
                f"no array `{member}`" if member else "which array?",
                f"write @{stem}:NAME; the arrays are {found}",
            )
        return arrays[member]
    reader = _READERS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        fail(
            path,
            "don't know how to read this file",
            f"the endings are {', '.join([*_READERS, '.npz:name'])}",
            "E002",
        )
    return reader(path)


def _parse_assignment(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name or not value:
        raise GradcliError(
            Diagnostic(
                "E001", f"--set: expected NAME=VALUE, got `{text}`", help="write `--set x=3`"
            )
        )
    if value.startswith("@"):
        return name, read_value(value[1:])
    from .constants import constant

    return name, constant(value, name)


# ---- formats -------------------------------------------------------------------------------------


def read_text(path: str) -> str:
    """The text of a file. Raises GradcliError (E002), as what follows does, and E005."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        fail(path, f"cannot read it: {error.strerror}", code="E002")
    except ValueError:
        fail(path, "it is not UTF-8 text", code="E002")


def read_json(path: str) -> Any:
    """What a JSON file holds, with the numbers that JSON has no notation for."""
    return parse_json(read_text(path), path)


def parse_json(text: str, place: str, number: Callable[[str], Any] | None = None) -> Any:
    """What JSON text holds, with the numbers that JSON has no notation for; `number` reads the
    others from their text."""
    import json

    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):  # before the parser recurses
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > _MAX_NESTING:
            fail(place, f"nested deeper than {_MAX_NESTING} levels")

    def checked(text: str) -> float:
        value = float(text)
        if value == 0 or math.isinf(value):
            from ..rows.exact import lost

            if why := lost(text):
                fail(place, why)
        return value

    try:
        return _numbers(
            json.loads(
                text,
                parse_float=number or checked,
                parse_int=number,
                object_pairs_hook=partial(_unique, place),
            )
        )
    except json.JSONDecodeError as error:
        fail(f"{place}:{error.lineno}:{error.colno}", f"not JSON: {error.msg}")
    except ValueError:  # Python's limit for integers
        fail(place, "it has an integer of thousands of digits", "write a float, such as `1e20`")


def _unique(place: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The mapping that JSON writes with these keys and values; no key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        fail(
            place, f"`{next(key for key in keys if keys.count(key) > 1)}` stands twice in a mapping"
        )
    return found


def _numbers(value: Any) -> Any:
    """JSON with the numbers that it has no notation for: `"nan"`, `{"re": 1, "im": 2}`."""
    if isinstance(value, str):
        return _NONFINITE.get(value, value)
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, dict):
        items = {key: _numbers(item) for key, item in value.items()}
        if set(items) == {"re", "im"} and all(
            isinstance(item, (int, float)) for item in items.values()
        ):
            return complex(items["re"], items["im"])
        return items
    return value


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Nested dicts as paths: `layer: {w: …}` is `layer.w`."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _read_csv(path: str) -> Any:
    """One column is a vector, several a matrix; a first line without a single number is a header,
    if numbers follow."""
    import csv

    import numpy as np

    from ..rows.exact import lost

    rows: list[list[float]] = []
    header: list[str] = []
    reader = csv.reader(read_text(path).splitlines())
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if not rows and reader.line_num == 1 and not any(map(_is_number, cells)):
                header = cells
                continue
            for cell in cells:
                if not _is_number(cell):
                    fail(f"{path}:{reader.line_num}", f"`{cell}` is not a number")
                if why := lost(cell):
                    fail(f"{path}:{reader.line_num}", why)
            if rows and len(cells) != len(rows[0]):
                fail(
                    f"{path}:{reader.line_num}",
                    f"{len(cells)} cells, {len(rows[0])} in the lines before",
                )
            rows.append([float(cell) for cell in cells])
    except csv.Error as error:
        fail(f"{path}:{reader.line_num}", str(error))
    if header and not rows:
        fail(
            f"{path}:1",
            f"`{','.join(header)}` is not a number",
            "a header needs lines of numbers below it",
        )
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 1)
    return matrix[:, 0] if matrix.shape[1] == 1 else matrix


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()


def _read_npy(path: str) -> Any:
    import numpy as np

    with _numpy_errors(path), open(path, "rb") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def open_npz(path: str) -> dict[str, Any]:
    """The arrays of an NPZ by name."""
    import zipfile

    import numpy as np

    with _numpy_errors(path), zipfile.ZipFile(path):  # anything else NumPy would take for a pickle
        pass
    with _numpy_errors(path), np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


class _numpy_errors:  # noqa: N801
    """What NumPy raises about a file, as a diagnostic about that file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if (
            error is None
            or isinstance(error, (GradcliError, MemoryError))
            or not isinstance(error, Exception)
        ):
            return
        if isinstance(error, OSError) and error.strerror:
            fail(self.path, f"cannot read it: {error.strerror}", code="E002")
        if "pickle" in str(error):
            fail(
                self.path,
                "it holds Python objects, which are never loaded",
                "save an array of numbers",
            )
        fail(self.path, f"it is not a NumPy file: {error}")


_READERS: dict[str, Callable[[str], Any]] = {
    ".json": read_json,
    ".csv": _read_csv,
    ".npy": _read_npy,
}


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else f"`{value}`"


def fail(place: str, message: str, help: str = "", code: str = "E005") -> NoReturn:
    """Says what is wrong with a file, and where."""
    raise GradcliError(Diagnostic(code, f"{place}: {message}", help=help)) from None
