"""JSON lines: one object a line. A key that a line lacks, or null, is a missing value; a bad line costs only its row.

Lists are arrays, {"re": …, "im": …} is complex, "nan", "inf" and "-inf" are numbers. Numbers are float64 whatever they look
like, so that each block says the same; where all are true or false, bool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...collector import collector_paused
from ..blocks import Array, Block, PartError, Range, unreadable
from ..exact import EXACT, nearest, shown, survives, too_long
from ..flat import MAX_AXES, Cells, Layout, fill, layouts
from ..writing.columns import dumped
from .lines import BOM, Lines, cut
from .streams import Feed

_HEAD = 1 << 20
_SNIFFED = 1000  # lines that are asked for the names of columns
_NONFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_TOO_DEEP = f"its lists nest more than {MAX_AXES} deep"
_SURROGATE = re.compile(rb"\\u[dD]")
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JsonRange:
    """Some lines of a file of JSON lines."""

    start: int
    size: int
    lines: Lines
    names: tuple[str, ...]

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        block = Block(self.start, self.size)
        with collector_paused():
            return self._read(block, numeric, keep)

    def _read(self, block: Block, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        try:
            data = self.lines.read()
            rows = _rows(data, block)
        except (OSError, PartError) as error:
            return unreadable(self.start, self.size, numeric, keep, error)
        # A name that the first lines don't have may be in these.
        where = {name: Layout([name]) for name in numeric} | layouts(numeric, self.names)
        fill(block, where, {column: _cells(column, rows) for place in where.values() for column in place.columns})
        suspect = {list, dict, str} if _SURROGATE.search(data) else {list, dict}
        for name in keep:
            values = [row.get(name) for row in rows]
            block.kept[name] = objects(values)
            if suspect.isdisjoint(map(type, values)):
                continue
            for k, value in enumerate(values):
                if type(value) in suspect and (reason := _unwritable(value)):
                    block.rejected.setdefault(k, f"column `{name}`: {reason}")
        return block


class JsonPart:
    """One file of JSON lines, or what comes from standard input."""

    fixed = False
    rows = None

    def __init__(self, path: str) -> None:
        self._feed = Feed(path)
        self.kinds: dict[str, str] = {}
        head = self._feed.head(_HEAD)
        lines = head.removeprefix(BOM).split(b"\n")[:_SNIFFED]
        names: dict[str, None] = {}
        for line in lines:
            try:
                row = json.loads(line.decode())  # of bytes, it would take UTF-16 as well
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                names |= dict.fromkeys(row)
        if not names and head.strip():
            raise PartError(f"none of its first {min(len(lines), _SNIFFED)} lines is a JSON object")
        self.columns = tuple(names)

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        for first, size, lines in cut(self._feed, 0, rows, start):
            yield JsonRange(first, size, lines, self.columns)


def _rows(data: bytes, block: Block) -> list[_Row]:
    """The objects, an empty one for each line that is none; says why in `block.rejected`."""
    rows = []
    try:
        lines: list[Any] = data.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        lines = data.removeprefix(BOM).removesuffix(b"\n").split(b"\n")
    for k, text in enumerate(lines):
        try:
            row, end = _scan(text, 0)
            if end != len(text) or type(row) is not dict:
                raise ValueError
        except (StopIteration, ValueError, TypeError, RecursionError):
            row = _row(text, k, block)
        rows.append(row)
    return rows


def _row(line: str | bytes, k: int, block: Block) -> _Row:
    """One line that isn't as plain as most: with spaces around it, or wrong."""
    try:
        row = json.loads(line if isinstance(line, str) else line.decode())
        if isinstance(row, dict):
            return row
        reason = f"expected a JSON object on the line, got {_shown(row)}"
    except UnicodeDecodeError:
        reason = "the line is not UTF-8 text"
    except ValueError as error:
        reason = f"the line is not JSON: {error}" if line.strip() else "the line is empty"
    except RecursionError:
        reason = "the line nests lists or objects too deeply"
    block.rejected[k] = reason
    return {}


def _unwritable(value: Any) -> str:
    """Why a value can't be kept; "" where it can."""
    try:
        dumped(value).encode()
    except UnicodeEncodeError:
        return f"{shown(json.dumps(value))} has half a character, a surrogate without its other"
    except RecursionError:
        return "it nests lists or objects too deeply"
    return ""


# ---- columns -------------------------------------------------------------------------------------------------------


def objects(values: list[Any]) -> Array:
    """A list as an array of Python objects, lists within it too."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _cells(column: str, rows: list[_Row]) -> Cells:
    values = [row.get(column) for row in rows]
    kinds = set(map(type, values))
    if kinds <= {float, int}:
        array = np.array(values, np.float64) if int not in kinds else _exact(values)
        if array is not None:
            return Cells(array)
    if kinds == {bool}:
        return Cells(np.array(values))
    if kinds == {list} and (array := _regular(values)) is not None:
        return Cells(array)
    return _one_by_one(column, values)


def _exact(values: list[Any]) -> Array | None:
    """The numbers as float64, unless one of them might lose digits."""
    try:
        array = np.array(values, np.float64)
    except OverflowError:
        return None
    return None if (np.abs(array) >= EXACT).any() else array


def _one_by_one(column: str, values: list[Any]) -> Cells:
    arrays: list[Array | None] = []
    rejected: dict[int, str] = {}
    for k, value in enumerate(values):
        try:
            arrays.append(None if value is None else _array(value))
        except _BadValueError as error:
            arrays.append(None)
            rejected[k] = f"column `{column}`: {error}"
    there = [array for array in arrays if array is not None]
    absent = np.array([value is None for value in values], dtype=bool)
    missing = absent if absent.any() else None
    if not there:
        return Cells(np.full(len(values), np.nan), missing, rejected)
    kinds = {array.dtype.kind for array in there}
    dtype = np.complex128 if "c" in kinds else bool if kinds == {"b"} else np.float64
    if len({array.shape for array in there}) > 1:
        return Cells(objects([None if array is None else array.astype(dtype) for array in arrays]), missing, rejected)
    result = np.full((len(values), *there[0].shape), False if dtype is bool else np.nan, dtype)
    result[[array is not None for array in arrays]] = there
    return Cells(result, missing, rejected)


class _BadValueError(Exception):
    """A value is no number, nor an array of numbers; says which."""


def _array(value: Any, depth: int = 0) -> Array:
    """The array that a JSON value is."""
    if not isinstance(value, list):
        return np.array(_number(value))
    if depth == MAX_AXES:
        raise _BadValueError(_TOO_DEEP)
    if (fast := _regular(value)) is not None:
        return fast
    items = [_array(item, depth + 1) for item in value]
    if len({item.shape for item in items}) > 1:
        raise _BadValueError(f"the lists in {_shown(value)} differ in length")
    if items and items[0].ndim >= MAX_AXES:
        raise _BadValueError(_TOO_DEEP)
    return np.array(items)


def _regular(lists: list[Any]) -> Array | None:
    """Nested lists of plain numbers, or of true and false, as an array; None for all that needs a closer look."""
    try:
        array = np.array(lists)
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind == "b" and array.ndim <= MAX_AXES:
        return array
    if array.dtype.kind not in "fi" or array.ndim > MAX_AXES or (np.abs(array) >= EXACT).any():
        return None
    return array.astype(np.float64, copy=False)


def _number(value: Any) -> complex | float | bool:
    if type(value) is float or type(value) is bool:
        return value
    if type(value) is int:
        if not survives(value):
            raise _BadValueError(too_long(_shown(value)))
        return nearest(value)
    if isinstance(value, str) and value in _NONFINITE:
        return _NONFINITE[value]
    if isinstance(value, dict) and set(value) == {"re", "im"} and dict not in map(type, value.values()):
        return complex(_number(value["re"]), _number(value["im"]))
    raise _BadValueError(f"{_shown(value)} is not a number")


def _shown(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=False))
