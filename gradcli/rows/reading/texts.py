"""Numbers out of cells of text: what a CSV cell may say, and why it may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .. import compute as pc
from ..arrays import literal, null, texts
from ..exact import EXACT, lost, shown
from ..flat import Cells

_NUMBER = r"^[+-]?(?i:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)$"
_INTEGER = r"^[+-]?[0-9]{16,}$"
_WORDS = {"true": 1.0, "false": 0.0}


def numbers(column: str, cells: Any) -> Cells:
    """The numbers that an Arrow array of text holds: float64, or bool where all are true or false.

    Null and empty text are missing values. A number is rejected that float64 would silently change.
    """
    cells = pc.fill_null(pc.utf8_trim_whitespace(cells), literal(""))
    fits = pc.match_substring_regex(cells, _NUMBER)
    values = _floats(pc.if_else(fits, cells, null(pa.string())).cast(pa.float64()))
    missing = _mask(pc.equal(cells, literal("")))
    odd = ~_mask(fits) & ~missing
    rejected: dict[int, str] = {}
    words = 0
    if odd.any():
        lower = pc.ascii_lower(cells)
        for word, value in _WORDS.items():
            said = _mask(pc.equal(lower, literal(word)))
            values[said] = value
            words += int(said.sum())
            odd &= ~said
        for row in np.flatnonzero(odd).tolist():
            rejected[row] = f'column `{column}`: "{shown(cells[row].as_py())}" is not a number'
    suspect = np.isinf(values) | ((values == 0) & _mask(pc.match_substring_regex(cells, "[1-9]")))
    if (np.abs(values) >= EXACT).any():
        suspect |= _mask(pc.match_substring_regex(cells, _INTEGER))
    for row in np.flatnonzero(suspect).tolist():
        if why := lost(cells[row].as_py()):
            rejected[row] = f"column `{column}`: {why}"
    if words and words + len(rejected) + int(missing.sum()) == len(values):
        return Cells(
            np.nan_to_num(values).astype(bool), missing if missing.any() else None, rejected
        )
    return Cells(values, missing if missing.any() else None, rejected)


def decoded(column: str, cells: Any, as_latin: bool = False) -> tuple[Any, dict[int, str]]:
    """Text out of an Arrow array of bytes; null where they aren't UTF-8, and why these rows are
    rejected.

    With `as_latin` each of the bytes has been taken for a character of Latin-1, and these encoded.
    """
    try:
        if not as_latin:
            return cells.cast(pa.string()), {}
        values = [cell and cell.decode().encode("latin-1") for cell in cells.to_pylist()]
    except pa.ArrowInvalid:
        values = cells.to_pylist()
    found: list[str | None] = []
    rejected = {}
    for row, cell in enumerate(values):
        try:
            found.append(None if cell is None else cell.decode())
        except UnicodeDecodeError:
            found.append(None)
            rejected[row] = f"column `{column}`: {cell!r} is not UTF-8 text"
    return texts(found), rejected


def _floats(array: Any) -> Any:
    return np.array(array.to_numpy(zero_copy_only=False))


def _mask(array: Any) -> Any:
    return np.array(array.to_numpy(zero_copy_only=False), dtype=bool)
