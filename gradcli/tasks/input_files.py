"""Files of inputs: JSON, NPY, NPZ and text. Nothing in them is executed (arrays of Python objects
are refused).

Every error is a GradcliError that names the file: E002 for one that can't be read, E005 for one
that says something wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NoReturn

from ..diagnostics import Diagnostic, GradcliError

_MAX_NESTING = 200  # as in the language
_NONFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def read_text(path: str) -> str:
    """The text of a file. Raises GradcliError (E002), as what follows does, and E005."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        fail(path, f"cannot read it: {error.strerror}", code="E002")
    except ValueError:
        fail(path, "it is not UTF-8 text", code="E002")


def read_json(path: str, name: str) -> Any:
    """What a JSON file holds, with the numbers that JSON has no notation for; messages call it
    `name`."""
    return parse_json(read_text(path), name)


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


def read_npy(path: str, name: str) -> Any:
    """The array of an NPY file; messages call it `name`."""
    import numpy as np

    with _numpy_errors(name), open(path, "rb") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def open_npz(path: str, name: str) -> dict[str, Any]:
    """The arrays of an NPZ by name; messages call it `name`."""
    import zipfile

    import numpy as np

    with _numpy_errors(name), zipfile.ZipFile(path):  # anything else NumPy would take for a pickle
        pass
    with _numpy_errors(name), np.load(path, allow_pickle=False) as archive:
        return {member: archive[member] for member in archive.files}


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


def fail(place: str, message: str, help: str = "", code: str = "E005") -> NoReturn:
    """Says what is wrong with a file, and where."""
    raise GradcliError(Diagnostic(code, f"{place}: {message}", help=help)) from None
