"""JSON lines: one object a line. A key that a line lacks, or null, is a missing value; a bad line
costs only its row.

Lists are arrays, {"re": …, "im": …} is complex, "nan", "inf" and "-inf" are numbers. Numbers are
float64 whatever they look like, so that each block says the same; where all are true or false,
bool. One that float64 can't hold costs its row.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...platform.collector import collector_paused
from ..blocks import Array, Block, PartError, Range, unreadable
from ..exact import EXACT, lost, may_vanish, shown
from ..flat import MAX_AXES, Cells, Layout, fill, layouts, objects
from ..writing.json_text import dumped
from .lines import BOM, Lines, cut, divided
from .streams import Feed

_HEAD = 1 << 20
_MAX_DIGITS = 1000  # of an integer that is kept
_SNIFFED = 1000  # lines that are asked for the names of columns
_NONFINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_TOO_DEEP = f"its lists nest more than {MAX_AXES} deep"
_NO_ZERO = re.compile(r"-0(?![.0-9eE])|[eE]-[0-9]{3}")  # what may have become one
_ZEROS = "0" * 300
_SURROGATE = re.compile(rb"\\u[dD]")
_Row = dict[str, Any]


class _RepeatedError(ValueError):
    """An object has two values for one key."""


class _Lost(str):
    """A number that no float64 holds, as it is written."""


def _object(pairs: list[tuple[str, Any]]) -> _Row:
    """An object. Raises _RepeatedError."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedError(next(name for k, name in enumerate(names) if name in names[:k]))
    return found


def _float(text: str) -> float | _Lost:
    return _Lost(text) if lost(text) else float(text)


def _int(text: str) -> int | float | _Lost:
    if len(text) > _MAX_DIGITS:
        return _Lost(text)
    return int(text) if text != "-0" else -0.0


_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_careful = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_int=_int)


@dataclass(frozen=True, slots=True)
class JsonRange:
    """Some lines of a file of JSON lines."""

    start: int
    size: int
    lines: Lines
    names: tuple[str, ...]

    def divided(self, rows: int) -> Iterator[Range]:
        start = self.start
        for piece in divided(self.lines, self.size, rows):
            yield JsonRange(start, piece.size, Lines(piece.length, piece.data), self.names)
            start += piece.size

    def read(self, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        block = Block(self.start, self.size)
        with collector_paused():
            return self._read(block, numeric, keep)

    def _read(self, block: Block, numeric: Sequence[str], keep: Sequence[str]) -> Block:
        try:
            data = self.lines.read()
            rows, lines = _rows(data, block)
        except (OSError, PartError) as error:
            return unreadable(self.start, self.size, numeric, keep, error)
        # A name that the first lines don't have may be in these.
        where = {name: Layout([name]) for name in numeric} | layouts(numeric, self.names)
        columns = [column for place in where.values() for column in place.columns]
        cells = {column: _cells(column, rows) for column in columns}
        kept = {name: [row.get(name) for row in rows] for name in keep}
        numbers = [*(found.values for found in cells.values()), *map(_floats_of, kept.values())]
        if isinstance(lines[0], str) and (doubtful := _doubtful(numbers, data, lines)):
            for k in doubtful:
                rows[k] = _row(lines[k], k, block)
            cells = {column: _cells(column, rows) for column in columns}
            kept = {name: [row.get(name) for row in rows] for name in keep}
        fill(block, where, cells)
        suspect = {list, dict, _Lost, *([str] if _SURROGATE.search(data) else [])}
        for name, values in kept.items():
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
        lines = head.removeprefix(BOM).removesuffix(b"\n").split(b"\n")[:_SNIFFED]
        names: dict[str, None] = {}
        is_any = not head.strip()
        for line in lines:
            try:
                row = json.loads(line.decode())  # of bytes, it would take UTF-16 as well
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                names |= dict.fromkeys(row)
                is_any = True
        if not is_any:
            count = f"none of its first {len(lines)} lines is" if lines[1:] else "its line isn't"
            first = shown(lines[0].decode(errors="replace").strip())
            raise PartError(
                f"{count} a JSON object; it begins with `{first}`: write one object on a line, "
                "as `jq -c '.[]'` does"
            )
        self.columns = tuple(names)

    def ranges(self, rows: int, start: int) -> Iterator[Range]:
        for first, size, lines in cut(self._feed, 0, rows, start):
            yield JsonRange(first, size, lines, self.columns)


def _rows(data: bytes, block: Block) -> tuple[list[_Row], list[Any]]:
    """The objects, an empty one for each line that is none, and the lines; says why in
    `block.rejected`."""
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
    if data.count(b":") != sum(
        map(len, rows)
    ):  # or no object holds another, and none has a key twice
        for k, text in enumerate(lines):
            if (
                isinstance(text, str)
                and text.count(":") != len(rows[k])
                and k not in block.rejected
            ):
                rows[k] = _row(text, k, block)
    return rows, lines


def _row(line: str | bytes, k: int, block: Block) -> _Row:
    """One line that isn't as plain as most: with spaces around it, with numbers that need a closer
    look, or wrong."""
    try:
        row = _careful.decode(line if isinstance(line, str) else line.decode())
        if isinstance(row, dict):
            return row
        reason = f"expected a JSON object on the line, got {_shown(row)}"
    except UnicodeDecodeError:
        reason = "the line is not UTF-8 text"
    except _RepeatedError as error:
        reason = f"the key {_shown(str(error))} stands twice in an object"
    except ValueError as error:
        reason = f"the line is not JSON: {error}" if line.strip() else "the line is empty"
    except RecursionError:
        reason = "the line nests lists or objects too deeply"
    block.rejected[k] = reason
    return {}


def _doubtful(columns: Iterable[Array], data: bytes, lines: list[Any]) -> list[int]:
    """The lines with a number that may not be what is written: JSON's parser makes inf of 1e400,
    and 0 of 1e-400 and of -0."""
    found = _rows_where(np.isinf, columns)
    if b"-0" in data or may_vanish(data):
        zeros = _rows_where(lambda values: values == 0, columns)
        found |= {k for k in zeros if _NO_ZERO.search(lines[k]) or _ZEROS in lines[k]}
    return sorted(found)


def _rows_where(holds: Callable[[Array], Any], columns: Iterable[Array]) -> set[int]:
    """The rows with a float for which it holds."""
    found: set[int] = set()
    for values in columns:
        if values.dtype == object:
            found |= {
                k for k, value in enumerate(values) if value is not None and holds(value).any()
            }
        elif values.dtype.kind in "fc" and values.size:
            found |= set(
                np.flatnonzero(holds(values).reshape(len(values), -1).any(axis=1)).tolist()
            )
    return found


def _floats_of(values: list[Any]) -> Array:
    """The numbers among values that are kept, as far as `_doubtful` goes: lists and objects may
    hold any."""
    if {float, int, list, dict}.isdisjoint(map(type, values)):
        return np.array([])
    return np.array(
        [
            math.inf
            if type(v) in (list, dict)
            else 0.0
            if v == 0
            else v
            if type(v) is float
            else 1.0
            for v in values
        ]
    )


def _unwritable(value: Any) -> str:
    """Why a value can't be kept; "" where it can."""
    try:
        if why := next(_losses(value), ""):
            return why
        dumped(value).encode()
    except UnicodeEncodeError:
        return f"{_shown(value)} has half a character, a surrogate without its other"
    except RecursionError:
        return "it nests lists or objects too deeply"
    return ""


def _losses(value: Any) -> Iterator[str]:
    """What is wrong with the numbers in a value that no float64 holds."""
    if type(value) is _Lost:
        yield _why_lost(value)
    elif type(value) in (list, dict):
        for item in value if type(value) is list else value.values():
            yield from _losses(item)


def _why_lost(number: _Lost) -> str:
    return lost(number) or f"{shown(number)} has more than {_MAX_DIGITS} digits"


# ---- columns -------------------------------------------------------------------------------------


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
        return Cells(
            objects([None if array is None else array.astype(dtype) for array in arrays]),
            missing,
            rejected,
        )
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
    """Nested lists of plain numbers, or of true and false, as an array; None for all that needs a
    closer look."""
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
        if why := lost(str(value)):
            raise _BadValueError(why)
        return float(value)
    if type(value) is _Lost:
        raise _BadValueError(_why_lost(value))
    if isinstance(value, str) and value in _NONFINITE:
        return _NONFINITE[value]
    if (
        isinstance(value, dict)
        and set(value) == {"re", "im"}
        and dict not in map(type, value.values())
    ):
        return complex(_number(value["re"]), _number(value["im"]))
    raise _BadValueError(f"{_shown(value)} is not a number")


def _shown(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=False))
