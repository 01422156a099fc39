"""A value of many rows by some of them, on the trace."""

from __future__ import annotations

from typing import Any

from ..ops import OPS
from .apply import apply
from .boxes import primal
from .lanes import Group, Lanes
from .run import Run
from .tape import Site

PICK = OPS["pick_rows"]


def narrowed(run: Run, site: Site, value: Any, group: Group | None) -> Any:
    """A value of an outer group by the rows of `group`; any other as it is."""
    inner = primal(value)
    if type(inner) is not Lanes or group is None or not group.within(inner.group):
        return value
    path: list[Group] = []
    while group is not None and group is not inner.group:
        path.append(group)
        group = group.parent
    for part in reversed(path):
        value = apply(run, site.derived(PICK), (value,), {"index": part.origin, "group": part, "of": part.parent})
    return value
