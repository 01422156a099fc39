"""Results of `vmap` that are none in some rows: lists with an item for each row, instead of
arrays."""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

from ...ops import OPS
from ..backends.backend import shape_of
from ..operations.apply import apply
from ..operations.rows.separation import SeparationError
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, describe, is_number, read
from ..values.lanes import Group

GETITEM = OPS["getitem"]
UNFOLD = OPS["unfold_rows"]
FOLD = OPS["fold_rows"]
MERGE = OPS["merge_rows"]
PLACE = OPS["place_rows"]
Pieces: TypeAlias = "list[tuple[Group, Any]]"  # parts of a group, each with its result


def as_lists(run: Run, group: Group, pieces: Pieces, site: Site) -> Any:
    """Results that are none in some rows, as a list with an item for each row. Lists and dicts with
    the same keys in all rows keep their form, with such lists inside. Raises GradcliError (E314)
    where the rows differ in anything else."""
    values = [read(value) for _, value in pieces]
    first, groups = values[0], [part for part, _ in pieces]
    if all(type(v) is List and len(v) == len(first) for v in values):
        columns = zip(*values, strict=True)
        return List(
            [
                as_lists(run, group, list(zip(groups, column, strict=True)), site)
                for column in columns
            ]
        )
    if all(type(v) is dict and v.keys() == first.keys() for v in values):
        return {
            key: as_lists(
                run, group, [(g, v[key]) for g, v in zip(groups, values, strict=True)], site
            )
            for key in first
        }
    return _per_row(run, group, pieces, site)


def _per_row(run: Run, group: Group, pieces: Pieces, site: Site) -> List:
    """A list of the results of single rows, with none for rows that are in no piece."""
    there = [(part, value) for part, v in pieces if (value := read(v)) is not None]
    if not there:
        return List([None] * (group.each or group.size))
    values = [v for _, v in there]
    first, numbers = values[0], [primal(v) for v in values]
    if all(map(is_number, numbers)) and len({shape_of(v) for v in numbers}) == 1:
        return _row_values(run, group, there, site)
    if all(type(v) is List and len(v) == len(first) for v in values):
        keys: Any = range(len(first))
    elif all(type(v) is dict and v.keys() == first.keys() for v in values):
        keys = first
    else:
        refuse(run, pieces, site)
    parts = {key: _per_row(run, group, [(part, v[key]) for part, v in there], site) for key in keys}

    def row(k: int) -> Any:
        return (
            {key: part[k] for key, part in parts.items()}
            if type(first) is dict
            else List([p[k] for p in parts.values()])
        )

    has, _ = _rows_in(run, group, there)
    return List([row(k) if own else None for k, own in enumerate(has)])


def _rows_in(run: Run, group: Group, there: Pieces) -> tuple[list[bool], Any]:
    """Which rows of a group are in these pieces, as bools and as sorted indices. The bools are for
    one of the rows that run outside; separates those where they differ."""
    xp, outside = run.backend.xp, run.group
    rows = xp.sort(xp.concatenate([part.way_to(group) for part, _ in there]))
    has = xp.isin(xp.arange(group.size), rows).reshape(1 if outside is None else outside.size, -1)
    if outside is not None and not bool((has == has[:1]).all()):
        raise SeparationError(outside, xp.unique(has, axis=0, return_inverse=True)[1].reshape(-1))
    return has[0].tolist(), rows


def _row_values(run: Run, group: Group, there: Pieces, site: Site) -> List:
    """Numbers or arrays of some rows of a group as a list, with none for the other rows."""
    xp, (has, rows) = run.backend.xp, _rows_in(run, group, there)
    some, parts = Group(len(rows), group, rows), [part for part, _ in there]
    options = {
        "indices": [xp.searchsorted(rows, part.way_to(group)) for part in parts],
        "groups": parts,
        "group": some,
    }
    merged = apply(run, Site(MERGE, site.span), tuple([v for _, v in there]), options)
    placed = apply(
        run, Site(PLACE, site.span), (merged,), {"index": rows, "group": group, "of": some}
    )
    stacked = apply(run, Site(FOLD, site.span), (placed,), {"axis": 0, "group": group})
    getitem = Site(GETITEM, site.span)
    return List(
        [
            apply(run, getitem, (stacked,), {"index": (k,)}) if own else None
            for k, own in enumerate(has)
        ]
    )


def refuse(run: Run, pieces: Pieces, site: Site) -> NoReturn:
    """Raises GradcliError (E314) for results that no array can hold."""
    shown = " and ".join(dict.fromkeys(describe(v) for _, v in pieces))
    help = "the value must have one shape; pad it, or reduce it"
    run.fail(
        "E314", f"the rows give values that are no array together: {shown}", site.span, help=help
    )
