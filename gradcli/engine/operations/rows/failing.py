"""Rows that fail in an operation on many: which they are, and the error that each has by itself.

Rows are told apart only where they begin again in parts (`parts_rows` of `Run`). Those that don't
fail then run once more, not once more for every row that fails, and those that fail not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ....diagnostics import Diagnostic, GradcliError
from ...trace.run import Run
from ...values.lanes import Group, Lanes
from .separation import SeparationError

FEW = 8  # rows that take no longer one by one than by halving


class RowsError(GradcliError):
    """Rows of a group that fail: a diagnostic for each of `rows`, as the row has it when it runs
    alone. There may be more that fail."""

    def __init__(self, group: Group, rows: list[int], diagnostics: list[Diagnostic]) -> None:
        super().__init__(*diagnostics)
        self.group, self.rows = group, rows

    def without_rows(self) -> GradcliError:
        """The error alone, for a caller that can't say what each row would add to it."""
        return GradcliError(*self.diagnostics)


def tells_apart(run: Run, group: Group | None, values: Iterable[Any] = ()) -> bool:
    """Whether to tell which rows of a group fail: it is the one that runs, and each of its rows is
    one of those that began. `values` decide which fail. They may not be floats, which may be
    rounded differently in a row alone."""
    return (
        run.parts_rows
        and group is not None
        and group is run.group
        and group.are_some(group.outermost())
        and all(type(v) is not Lanes or v.dtype.kind in "bi" for v in values)
    )


def of_all_rows(run: Run, error: GradcliError) -> GradcliError:
    """An error that each of the rows that run has: it follows from values that they share."""
    group = run.group
    if group is None or isinstance(error, RowsError) or not tells_apart(run, group):
        return error
    return RowsError(group, [*range(group.size)], error.diagnostics * group.size)


def fail_rows(run: Run, rows: Any, alone: Callable[[int], Any]) -> None:
    """Raises RowsError for those of these rows for which `alone(row)` fails, if there are any.
    `rows` are numbers in the group that runs."""
    group, failed = run.group, {}
    assert group is not None
    run.group = None
    try:
        for row in rows.tolist():
            try:
                alone(row)
            except GradcliError as error:
                if _is_limit(error):
                    raise
                (failed[row],) = error.diagnostics
    finally:
        run.group = group
    if failed:
        raise RowsError(group, [*failed], [*failed.values()])


def fail_by_halves(run: Run, together: Callable[[], Any], alone: Callable[[int], Any]) -> None:
    """Raises RowsError for the rows of the group that runs for which `alone(row)` fails, if
    `together`, which does the same for all rows that run, finds some."""
    group, xp = run.group, run.backend.xp
    assert group is not None
    run.parts_rows = False  # rows are told apart here, not inside
    try:
        suspects = _suspects(run, group, xp.arange(group.size), together)
    except SeparationError:
        return
    finally:
        run.group, run.parts_rows = group, True
    if suspects:
        fail_rows(run, xp.concatenate(suspects), alone)


def _suspects(run: Run, group: Group, rows: Any, together: Callable[[], Any]) -> list[Any]:
    """Few rows at a time, among which some fail."""
    run.group = Group(len(rows), group, rows)
    try:
        together()
    except GradcliError as error:
        if _is_limit(error):
            raise
        if len(rows) <= FEW:
            return [rows]
        half = len(rows) // 2
        return [
            *_suspects(run, group, rows[:half], together),
            *_suspects(run, group, rows[half:], together),
        ]
    return []


def _is_limit(error: GradcliError) -> bool:
    """Whether the error is a limit of the whole run, which a row alone may not reach."""
    return error.diagnostics[0].code.startswith("E4")


def row_of(run: Run, value: Any, k: int) -> Any:
    """The value that row `k` of lanes has when it runs alone; anything but lanes as it is."""
    if type(value) is not Lanes:
        return value
    return run.backend.settle(value.array[..., k].copy())


def fail_beyond(run: Run, index: Lanes, size: int, verify: Callable[[int], Any]) -> None:
    """Raises RowsError for the rows with an index beyond `size`, with the error that `verify`
    raises for the index of each."""
    if tells_apart(run, index.group):
        i = index.array.reshape(-1, index.group.size)
        wrong = run.backend.xp.flatnonzero(((i < -size) | (i >= size)).any(axis=0))
        fail_rows(run, wrong, lambda row: verify(row_of(run, index, row)))
