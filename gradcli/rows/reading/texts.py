"""Numbers out of cells of text: what a CSV cell may say, and why it may not."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..blocks import Array
from ..exact import EXACT, lost, shown
from ..flat import Cells

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_MISSING = ("na", "n/a", "null", "none", "missing", "-", "?", ".")  # as others write it
_LONGEST = 40  # characters of a cell that is told what it may mean
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)
_WORDS = {"true": 1.0, "false": 0.0}
_BYTES = re.compile("[\udc80-\udcff]")  # that are no character, as `surrogateescape` shows them

Texts = Sequence[str | None]


def numbers(column: str, cells: Texts) -> Cells:
    """The numbers that cells hold: float64, or bool where all are true or false.

    None and empty text are missing values. A number is rejected that float64 would silently change.
    """
    texts = ["" if cell is None else cell.strip() for cell in cells]
    missing = np.array([not text for text in texts], dtype=bool)
    rejected: dict[int, str] = {}
    values = _plain(texts)
    words = 0
    if values is None:
        values = np.full(len(texts), np.nan)
        for row, text in enumerate(texts):
            if _NUMBER.fullmatch(text):
                values[row] = float(text)
            elif (word := _WORDS.get(text.lower())) is not None:
                values[row] = word
                words += 1
            elif text:
                rejected[row] = f'column `{column}`: "{shown(text)}" is not a number{_meant(text)}'
    suspect = (values == 0) | (np.abs(values) >= EXACT)
    for row in np.flatnonzero(suspect).tolist():
        if texts[row].lower() not in _WORDS and (why := lost(texts[row])):
            rejected[row] = f"column `{column}`: {why}"
    gone = missing if missing.any() else None
    if words and words + len(rejected) + int(missing.sum()) == len(values):
        return Cells(np.nan_to_num(values).astype(bool), gone, rejected)
    return Cells(values, gone, rejected)


def _meant(text: str) -> str:
    """What a cell that is no number may be meant as."""
    if len(text) > _LONGEST:
        return ""
    meant = [text.replace(",", "")] if _GROUPED.fullmatch(text) else []
    meant += [text.replace(",", ".")] if _DECIMAL_COMMA.fullmatch(text) else []
    if meant:
        return f": write {' or '.join(meant)}"
    if text.lower() in _MISSING:
        return ": a cell without a value is empty"
    if " " in text and all(map(_NUMBER.fullmatch, text.split())):
        return ": cells are separated by commas, semicolons or tabs"
    return ""


def _plain(texts: Sequence[str]) -> Array | None:
    """The numbers where all texts are numbers or empty, nan for those; else None."""
    written = "\n".join(texts)
    if "_" in written or not written.isascii():  # which Python's numbers may have
        return None
    try:
        return np.array([float(text) if text else np.nan for text in texts], dtype=np.float64)
    except ValueError:
        return None


def decoded(column: str, cells: Texts) -> tuple[list[str | None], dict[int, str]]:
    """Text that was read with `surrogateescape`; None where it isn't UTF-8, and why these rows are
    rejected."""
    found = list(cells)
    rejected = {}
    for row, cell in enumerate(found):
        if cell is not None and not cell.isascii() and _BYTES.search(cell):
            found[row] = None
            data = cell.encode("utf-8", "surrogateescape")
            rejected[row] = f"column `{column}`: {data!r} is not UTF-8 text"
    return found, rejected
