"""`--format csv`: rows `file,output,wrt,index,value`, one a number. The value of an unconnected
gradient is empty.

`wrt` is `x` for a gradient, `x/jacobian`, `x/hessian`, or `x,z/hessian` for a mixed block. The
index of an entry of a sparse matrix is its row and column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..diagnostics import printable
from .style import Style
from .values import MAX_DEPTH, derivatives, is_array, is_sparse

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation


def render(evaluations: Sequence[Evaluation], style: Style) -> str:
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(["file", "output", "wrt", "index", "value"])
    for row in rows(evaluations):
        write(map(printable, [*row[:-1], cell(row.value)]))
    return text.getvalue()


class Row(NamedTuple):
    """A number, or a string, of an answer."""

    file: str
    output: str
    wrt: str
    place: str
    value: Any


def rows(evaluations: Sequence[Evaluation]) -> Iterator[Row]:
    """All numbers and strings."""
    for evaluation in evaluations:
        for output, value in evaluation.outputs.items():
            for index, item in _items(value):
                yield Row(evaluation.file, output, "", index, item)
        for found in derivatives(evaluation):
            wrt = ",".join(dict.fromkeys(found.by))
            wrt += "" if found.kind == "gradient" else f"/{found.kind}"
            for index, item in _items(found.value):
                yield Row(evaluation.file, found.output, wrt, index, item)


def _items(value: Any, index: tuple[object, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each number (or string) in a value, with its index: "", "0", "1,2"; keys of dicts are indices
    too."""
    if is_array(value):
        value = value.tolist()
    if is_sparse(value):
        for row, column, item in zip(value["rows"], value["cols"], value["values"], strict=True):
            yield from _items(item, (*index, row, column))
        return
    if len(index) > MAX_DEPTH:
        yield ",".join(map(str, index)), "..."
    elif isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            yield from _items(item, (*index, k))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _items(item, (*index, key))
    else:
        yield ",".join(map(str, index)), value


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).strip("()") if isinstance(value, (float, complex)) else str(value)
