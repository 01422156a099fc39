"""JSON lines: an object a line. Arrays are lists, no value is null, nan and infinities are "nan",
"inf" and "-inf"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.types as types

from .. import compute as pc
from ..arrays import literal, texts
from ..blocks import Array
from .columns import Column, distinct
from .files import Mark, output
from .json_text import dumped
from .tables import array_of
from .text import ROWS, joined, listed, plain, written

_ESCAPED = r'["\\\x00-\x1f]'


class JsonWriter:
    """A file of JSON lines; its position is a mark."""

    def __init__(self, path: str, resume_at: Sequence[int] | None) -> None:
        self._output = output(path, resume_at)

    def append(self, columns: Sequence[Column]) -> Mark:
        distinct([column.name for column in columns])
        count = len(columns[0].values) if columns else 0
        for start in range(0, count, ROWS):
            parts: list[Any] = []
            for column in columns:
                mask = None if column.mask is None else column.mask[start : start + ROWS]
                parts += [
                    f"{', ' if parts else '{'}{json.dumps(column.name, ensure_ascii=False)}: "
                ]
                parts += [_texts(column.values[start : start + ROWS], mask)]
            self._output.write(written(joined(*parts, "}\n", null="null")))
        return self._output.mark

    def finish(self) -> None:
        self._output.finish()

    def close(self) -> None:
        self._output.close()


def _texts(values: Any, mask: Any) -> Any:
    """Each row's value as JSON, null where the row has none."""
    if not isinstance(values, np.ndarray):
        return _scalars(array_of(values, mask))
    if values.dtype == object:
        return texts([None if value is None else dumped(value) for value in values.tolist()], mask)
    if values.ndim > 1 or values.dtype.kind == "c":
        lists = joined(
            *_nested(values, None if mask is None or mask.ndim == 1 else mask), null="null"
        )
        return lists if mask is None or mask.ndim > 1 else array_of(lists, mask)
    return _scalars(array_of(values, mask))


def _nested(values: Array, mask: Any) -> list[Any]:
    """The parts of the text of lists: brackets, commas and columns of numbers."""
    if values.ndim == 1:
        if values.dtype.kind != "c":
            return [_scalars(array_of(values, mask))]
        parts = [_scalars(array_of(part, mask)) for part in (values.real, values.imag)]
        return ['{"re": ', parts[0], ', "im": ', parts[1], "}"]
    pieces: list[Any] = []
    for k in range(values.shape[1]):
        pieces += [", ", *_nested(values[:, k], None if mask is None else mask[:, k])]
    # The number of rows must show even where there is nothing in them.
    return ["[", *pieces[1:], "]"] if pieces else [texts(["[]"] * len(values))]


def _scalars(array: Any) -> Any:
    """Numbers and text as JSON."""
    kind = array.type
    if types.is_floating(kind):
        cells = plain(array)
        if pc.any(
            pc.equal(cells, literal("-0"))
        ).as_py():  # would be read as an integer, without its sign
            cells = pc.if_else(pc.equal(cells, literal("-0")), literal("-0.0"), cells)
        finite = pc.is_finite(array)
        if pc.all(finite).as_py() in (True, None):
            return cells
        return pc.if_else(finite, cells, joined('"', cells, '"'))
    if types.is_integer(kind) or types.is_boolean(kind):
        return plain(array)
    if types.is_nested(kind):
        return texts([None if value is None else dumped(value) for value in listed(array)])
    cells = plain(array)
    if pc.any(pc.match_substring_regex(cells, _ESCAPED)).as_py():
        return texts(
            [
                None if cell is None else json.dumps(cell, ensure_ascii=False)
                for cell in cells.to_pylist()
            ]
        )
    return pc.if_else(pc.is_null(cells), cells, joined('"', cells, '"'))
