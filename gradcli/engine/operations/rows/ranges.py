"""`range` with bounds that differ between rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from ....diagnostics import Span
from ...trace.run import Run
from ...values.lanes import Lanes, with_rows
from .separation import operation_group, uniform_bool


class RowRange:
    """A `range` whose bounds differ between rows; each row leaves the loop at its own end."""

    def __init__(self, run: Run, bounds: list[Any], span: Span) -> None:
        start, self.stop, self.step = (
            bounds if len(bounds) == 3 else (*([0] if len(bounds) == 1 else []), *bounds, 1)
        )
        self.run, self.start, self.span = run, start, span

    def __iter__(self) -> Iterator[Any]:
        start, step = self.start, self.step
        if type(start) is not Lanes and type(step) is not Lanes:
            yield from count(start, step)
        group = operation_group(self.run, (start, step), self.span)
        first, by = with_rows(start, group), with_rows(step, group)
        for k in count():
            yield Lanes(first + k * by, group)

    def has(self, item: Any) -> Any:
        """Which of the rows that run have this item in their range: True or False where all or none
        have it, otherwise lanes of bools."""
        group = operation_group(self.run, (item, self.stop, self.step), self.span)
        item, stop, step = (with_rows(v, group) for v in (item, self.stop, self.step))
        return uniform_bool(
            self.run, self.run.backend.xp.where(step > 0, item < stop, item > stop), group
        )
