"""`vmap` with one call of its function for each row.

A trace that is read back operation by operation on numbers (`rows_one_by_one` of `Trace`) wants
few rows in this form: its records then hold numbers instead of lanes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ...diagnostics import GradcliError
from ...ops import OPS
from ..backends.backend import shape_of
from ..operations.apply import apply
from ..trace.changes import take_back
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, Transform, leaves, map_structure, read

GETITEM, STACK = OPS["getitem"], OPS["stack"]

# Arguments, each with the axis of its rows; None for one that all rows share.
Pairs: TypeAlias = "list[tuple[Any, int | None]]"


def call_row_by_row(
    run: Run,
    transform: Transform,
    n: int,
    pairs: Pairs,
    keywords: list[str],
    site: Site,
) -> Any:
    """The result of `vmap` by a call for each row. None where the rows should run together instead:
    where a row draws or updates something, which then would happen once a row, where results nest
    differently, and where a row fails, as the message should name it."""
    divisions = len(run.changes)
    run.changes.append({})
    values = []
    try:
        for k in range(n):
            given = [
                value if axis is None else _row(run, value, axis, k, site) for value, axis in pairs
            ]
            first = len(given) - len(keywords)
            named = dict(zip(keywords, given[first:], strict=True))
            values.append(run.call(transform.function, given[:first], named, site))
        first_one, *others = values
        if run.changes[-1] or any(_nesting(value) != _nesting(first_one) for value in others):
            return None
        rest = [iter(list(leaves(value))) for value in others]

        def stacked(value: Any) -> Any:
            return apply(
                run,
                Site(STACK, site.span),
                (read(value), *(read(next(parts)) for parts in rest)),
                {"axis": 0},
            )

        return map_structure(stacked, first_one)
    except GradcliError as error:
        if error.diagnostics[0].code.startswith("E4"):
            raise  # limits (E4) hold for the whole run
        return None
    finally:
        take_back(run, divisions)


def _nesting(value: Any) -> Any:
    """The lists and dicts of a value, without their numbers."""
    if type(value) is List:
        return [_nesting(item) for item in value]
    return {key: _nesting(item) for key, item in value.items()} if type(value) is dict else None


def _row(run: Run, value: Any, axis: int, k: int, site: Site) -> Any:
    """Row `k` of an argument."""

    def part(value: Any) -> Any:
        value = read(value)
        index = (slice(None),) * (axis % len(shape_of(primal(value)))) + (k,)
        return apply(run, Site(GETITEM, site.span), (value,), {"index": index})

    return map_structure(part, value)
