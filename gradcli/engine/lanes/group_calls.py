"""One call for all rows of a group, and one for each part of the group where its rows can't run
together; and the error of the first row that fails when it runs by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...diagnostics import GradcliError
from ..operations.rows.separation import SeparationError, separate_by_missing, separated
from ..trace.changes import keep_changes, reported, take_back, take_back_reports
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import Variable, leaves, read
from ..values.lanes import Group, Lanes
from .merging import Meeting, merge
from .row_lists import MERGE, Pieces, refuse


def on_rows(run: Run, group: Group, call: Callable[[], Any], site: Site) -> Any:
    """The result of one call for all rows of a group. Raises GradcliError (E314) where the rows
    give values that no array can hold."""
    outside, divisions = run.group, len(run.changes)
    try:
        value = call_group(run, group, call, site)
    finally:
        run.group = outside
        take_back(run, divisions)
    if type(value) is Separate:
        refuse(run, value.pieces, site)
    return value


class Separate:
    """Results of parts of a group that no single value can hold."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces


def call_group(run: Run, group: Group, call: Callable[[], Any], site: Site) -> Any:
    """The result of one call for all rows of a group; where they can't run together, of one call
    for each part of them. Raises GradcliError (E312) where it leaves a variable with a state for
    each row."""
    run.group = group
    divisions, so_far = len(run.changes), reported(run)
    run.changes.append({})
    try:
        value = call()
        separate_by_missing(run, [primal(read(part)) for part in leaves(value)])
    except SeparationError as error:
        take_back(run, divisions)
        take_back_reports(run, so_far)
        return _call_separately(run, group, call, error, site)
    for variable in [
        key for key in run.changes[-1] if type(key) is Variable and type(key.state) is Lanes
    ]:
        run.fail(
            "E312",
            f"`{variable.name}` would have a state for each row outside of `vmap`",
            site.span,
            help=(
                "return what belongs to a row, and update the variable with what all rows give "
                "together"
            ),
        )
    keep_changes(run, divisions)
    return value


def _call_separately(
    run: Run, group: Group, call: Callable[[], Any], error: SeparationError, site: Site
) -> Any:
    """The merged results of one call for each part of the rows, and `Separate` ones where they
    don't merge."""
    parts = separated(run, group, error)
    pieces: Pieces = []
    for part in parts:
        value = call_group(run, part, call, site)
        pieces += value.pieces if type(value) is Separate else [(part, value)]
    run.group = group
    try:
        return _merged(run, group, pieces, site)
    except SeparationError:
        return Separate(pieces)


def _merged(run: Run, group: Group, pieces: Pieces, site: Site) -> Any:
    """The results of parts of a group as one value. Raises SeparationError where they don't
    merge."""
    parts = [part for part, _ in pieces]
    ways = [part.way_to(group) for part in parts]
    meeting = Meeting(run, Site(MERGE, site.span), group, parts, ways)
    return merge(meeting, [value for _, value in pieces])


# ---- the first row that fails --------------------------------------------------------------------


def first_failure(
    run: Run, group: Group, call: Callable[[Group], Any], error: GradcliError
) -> GradcliError:
    """The error of the first row that fails, found by bisection. It is `error`, that of all rows
    together, where no row fails by itself."""

    def failure(low: int, high: int) -> GradcliError | None:
        so_far = reported(run)
        run.changes.append({})
        try:
            call(Group(high - low, group, run.backend.xp.arange(low, high)))
        except GradcliError as failed:
            return failed
        finally:
            take_back(run, divisions)
            run.group = outside
            take_back_reports(run, so_far)
        return None

    outside, divisions = run.group, len(run.changes)
    low, high = 0, group.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(low, middle) is not None else (middle, high)
    found = failure(low, high)
    if found is None:
        return error
    if low:  # an error of the first row is mostly one of all rows, and names none
        found.diagnostics[:] = [
            replace(d, message=f"{d.message}, in row {low} of `vmap`") for d in found.diagnostics
        ]
    return found
