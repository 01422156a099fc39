"""`--format parquet`: the rows of `--format csv` as a table. The column `value` has the numbers,
and `text` what is none, or has more digits than a float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..rows.writing.whole import parquet
from .csv import cell, rows
from .style import Style

if TYPE_CHECKING:
    from ..tasks.evaluation import Evaluation


def render(evaluations: Sequence[Evaluation], style: Style) -> bytes:
    found = list(rows(evaluations))
    numbers = [_number(row.value) for row in found]
    texts = [
        None if number is not None or row.value is None else cell(row.value)
        for row, number in zip(found, numbers, strict=True)
    ]
    columns = {name: [getattr(row, name) for row in found] for name in ("file", "output", "wrt")}
    return parquet(
        {**columns, "index": [row.place for row in found], "text": texts}, {"value": numbers}
    )


def _number(value: Any) -> float | None:
    """A number as a float64, if that has all of its digits."""
    if isinstance(value, (bool, int, float)) and (value != value or float(value) == value):
        return float(value)
    return None
