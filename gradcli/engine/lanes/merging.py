"""Merging values of several groups of rows into one value for all of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ops import OPS
from ..backends.backend import shape_of
from ..operations.apply import apply
from ..operations.rows.narrowing import pick_shared
from ..operations.rows.separation import separate_by_index
from ..trace.changes import held
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import UNSET, List, Variable, is_number
from ..values.lanes import Group, Lanes, common

MERGE, PICK = OPS["merge_rows"], OPS["pick_rows"]


class Meeting(NamedTuple):
    """Where groups of rows meet in one `group`, which has their rows at `indices`."""

    run: Run
    site: Site
    group: Group
    groups: Sequence[Group]
    indices: Sequence[Any]


def merged_changes(meeting: Meeting, changes: list[dict[Any, Any]]) -> dict[Any, Any]:
    """What the groups changed outside of their frames, merged. Where a group left something
    unchanged, its rows keep what was there."""
    run, found = meeting.run, {}
    for key in dict.fromkeys(key for changed in changes for key in changed):
        column = [changed[key] if key in changed else held(run, key) for changed in changes]
        found[key] = primal(merge(meeting, column))
    return found


def join_groups(run: Run, site: Site, parent: Group, groups: Sequence[Group]) -> Meeting:
    """Where groups meet that are parts of `parent`. Their group comes from the innermost one that
    they all come from, so it can read every value that all of them can."""
    xp = run.backend.xp
    whole = groups[0]
    for group in groups:
        whole = common(whole, group) or parent
    ways = [g.way_to(whole) for g in groups]
    if sum(g.size for g in groups) == whole.size:
        return Meeting(run, site, whole, groups, ways)
    rows = xp.sort(xp.concatenate(ways))
    indices = [xp.searchsorted(rows, way) for way in ways]
    return Meeting(run, site, Group(len(rows), whole, rows), groups, indices)


def merge(meeting: Meeting, values: list[Any]) -> Any:
    """The values of several groups as one value of all their rows. Raises SeparationError where no
    value can hold them all."""
    run, site, group, groups, indices = meeting
    first = values[0]
    if all(v is first for v in values):
        return first
    plain = [primal(v.box if type(v) is Variable else v) for v in values]
    if any(
        v is UNSET or (type(v) is Lanes and not g.within(v.group))
        for v, g in zip(plain, groups, strict=True)
    ):
        return _merge_where_set(meeting, values)
    if all(map(is_number, plain)):
        if all(type(v) is not Lanes and not shape_of(v) and _equal(v, plain[0]) for v in values):
            return first
        if len({shape_of(v) for v in plain}) > 1 or len({_kind(v) for v in plain} | {"n"}) > 2:
            separate_by_index(run, group, indices)
        numbers = [v.box if type(v) is Variable else v for v in values]
        options = {"indices": indices, "groups": groups, "group": group}
        return apply(run, site, tuple(numbers), options)
    if all(type(v) is List for v in plain) and len({len(v) for v in plain}) == 1:
        columns = zip(*[list(v) for v in plain], strict=True)
        return List([merge(meeting, list(column)) for column in columns])
    if all(type(v) is dict for v in plain) and len({tuple(v) for v in plain}) == 1:
        return {key: merge(meeting, [v[key] for v in plain]) for key in first}
    if all(type(v) is str and v == first for v in plain):
        return first
    separate_by_index(run, group, indices)


def _equal(a: Any, b: Any) -> bool:
    """Whether two numbers have the same type and value, and zeros the same sign."""
    return type(a) is type(b) and bool(a == b) and (a != 0 or repr(a) == repr(b))


def _kind(value: Any) -> str:
    """The kind of a value, "b" for bools and "n" for numbers: an array holds one or the other."""
    is_bool = type(value) is bool or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    return "b" if is_bool else "n"


def _merge_where_set(meeting: Meeting, values: list[Any]) -> Any:
    """The value of a name that only some rows have assigned: it has only their rows."""
    run, site, group, groups, indices = meeting
    xp = run.backend.xp
    some: list[tuple[Any, Group, Any]] = []  # values, their groups, and their rows' indices
    for value, own, index in zip(values, groups, indices, strict=True):
        inner = primal(value)
        if type(inner) is Lanes and not own.within(inner.group):  # set in some rows of this group
            found = pick_shared(run, Site(PICK, site.span), value, own)
            if found is None:
                continue
            value, own, mine = found
            index = index[mine]
        if value is not UNSET and own.size:
            some.append((value, own, index))
    if not some:
        return UNSET
    if not all(is_number(primal(value)) for value, _, _ in some):
        separate_by_index(run, group, indices)
    rows = xp.sort(xp.concatenate([index for _, _, index in some]))
    inner = group if len(rows) == group.size else Group(len(rows), group, rows)
    options = {
        "indices": [xp.searchsorted(rows, index) for _, _, index in some],
        "groups": [own for _, own, _ in some],
        "group": inner,
    }
    return apply(run, site, tuple([value for value, _, _ in some]), options)
