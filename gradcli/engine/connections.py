"""For which rows there is a way from a source to a target, where rows took different paths: for the others the gradient is
none, and no zero.

Rows are known by groups (`lanes.py`): a value is connected in all rows of some groups. Two that a condition divided are
their parent again. So a walk back over the records costs no more than the records do, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops import OPS
from .by_rows import ApartError
from .lanes import Group, Lanes
from .records import Record, path
from .run import Run
from .tape import Segment

MERGE = OPS["merge_rows"]


def verify_connected(
    run: Run, targets: Iterable[Any], wanted: set[int], segments: list[Segment], marked: set[int] | None
) -> None:
    """Parts the rows that run where a source is connected in some of them only."""
    group = run.group
    assert group is not None
    found: dict[int, set[Group]] = {}
    for value, number, _ in targets:
        _add(found, number, value.group if type(value) is Lanes and value.group.within(group) else group)
    for record in reversed(path(segments, marked, set(found))):
        _pass(run, found, record)
    for number in wanted & found.keys():
        if any(group.within(g) for g in found[number]):
            continue
        connected = run.backend.xp.zeros(group.size, "int64")
        for g in found[number]:
            connected[g.way_to(group)] = 1
        if not bool(connected.all()):
            raise ApartError(group, connected)


def _pass(run: Run, found: dict[int, set[Group]], record: Record) -> None:
    """Takes what is known of a record's result to its inputs."""
    groups = found.get(record.number, ())
    if record.site.op is MERGE:
        for k, number in zip(record.site.operands, record.inputs, strict=True):
            for group in groups:
                _add(found, number, _both(run, group, record.options["groups"][k]))
        return
    own = _group_of(record.y)
    for number in record.inputs:
        for group in groups:
            _add(found, number, group if own is None else _both(run, group, own))


def _group_of(y: Any) -> Group | None:
    for value in y if type(y) is list else (y,):
        if type(value) is Lanes:
            return value.group
    return None


def _both(run: Run, a: Group, b: Group) -> Group:
    """The rows that are in both groups."""
    if b.within(a):
        return b
    if a.within(b):
        return a
    whole = a.outermost()
    rows = run.backend.xp.intersect1d(a.way_to(whole), b.way_to(whole))
    return Group(len(rows), whole, rows)


def _add(found: dict[int, set[Group]], number: int, group: Group) -> None:
    """Notes that a value is connected in a group; with the other side of a division, where both came from."""
    groups = found.setdefault(number, set())
    if group in groups:
        return
    while group.half is not None and group.parent is not None:
        other = next((g for g in groups if g.half is group.half), None)
        if other is None:
            break
        groups.discard(other)
        group = group.parent
    groups.add(group)
