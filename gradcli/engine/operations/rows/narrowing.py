"""Narrowing a value to some of its rows, as a recorded operation."""

from __future__ import annotations

from typing import Any

from ....ops import OPS
from ...trace.run import Run
from ...trace.tape import Site
from ...values.boxes import primal
from ...values.lanes import Group, Lanes, common
from ..apply import apply

PICK = OPS["pick_rows"]


def narrow_recorded(run: Run, site: Site, value: Any, group: Group | None) -> Any:
    """A value of an outer group narrowed to the rows of `group`; any other value as it is."""
    inner = primal(value)
    if type(inner) is not Lanes or group is None or not group.within(inner.group):
        return value
    path: list[Group] = []
    while group is not None and group is not inner.group:
        path.append(group)
        group = group.parent
    for part in reversed(path):
        value = apply(
            run,
            site.in_derivative(PICK),
            (value,),
            {"index": part.origin, "group": part, "of": part.parent},
        )
    return value


def pick_shared(run: Run, site: Site, value: Any, own: Group) -> tuple[Any, Group, Any] | None:
    """A value narrowed to those rows of `own` that it has, their group, and their indices in `own`;
    None where it has none of them. `site` is that of the `pick_rows` to record."""
    inner: Group = primal(value).group
    whole, xp = common(own, inner), run.backend.xp
    if whole is None:
        return None
    ways = [xp.arange(g.size) if g is whole else g.way_to(whole) for g in (own, inner)]
    _, mine, theirs = xp.intersect1d(*ways, return_indices=True)
    if not len(mine):
        return None
    rows = own if len(mine) == own.size else Group(len(mine), own, mine)
    return apply(run, site, (value,), {"index": theirs, "group": rows, "of": inner}), rows, mine
