"""Where rows divide: each side of a condition runs on its own rows, and what they assigned becomes
one value again.

A condition that differs between rows (`divide`, `choose`) runs each side with a group of its own
(`lanes.py`), so that no row executes a branch that it didn't take. Sides may end differently, as by
`break` and by falling through; then the statement's completion is a `Split`, and blocks, loops and
calls go on with the rows that do. All that a side can change is in its frame, or is noted in
`run.changes`: the states of variables, gradients, outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...ops import OPS
from ..analysis.liveness import Slots
from ..backends.backend import shape_of
from ..operations.apply import apply
from ..operations.by_rows import apart_by
from ..operations.narrowing import shared
from ..trace.changes import forget, held, put_all
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import (
    BREAK,
    CONTINUE,
    FRAME_HEAD,
    RESULT,
    RETURN,
    UNSET,
    Cell,
    List,
    Variable,
    is_number,
)
from ..values.lanes import Group, Lanes, common

MERGE, PICK = OPS["merge_rows"], OPS["pick_rows"]
Side = Callable[[list[Any]], Any]
Alive = Callable[[], "Slots | None"]  # the slots that may be read later; None for all


class Part:
    """Rows that ended a statement in the same way: their completion, the frame's values, the value
    that they return, and what they changed beside the frame."""

    __slots__ = ("changes", "completion", "group", "values")

    def __init__(
        self, group: Group, completion: Any, values: list[Any], changes: dict[Any, Any]
    ) -> None:
        self.group, self.completion, self.values, self.changes = group, completion, values, changes


class Split:
    """The completion of a statement that rows ended in different ways."""

    __slots__ = ("parent", "parts", "site")

    def __init__(self, parent: Group, parts: list[Part], site: Site) -> None:
        self.parent, self.parts, self.site = parent, parts, site

    def then(self, frame: list[Any], rest: Iterator[Side], alive: Alive) -> int | Split | None:
        """The rest of a block, for the rows that fell through; the completion of the whole. `alive`
        is what is at its end."""
        going = [p for p in self.parts if p.completion is None]
        if not going:
            return self
        run = frame[0]
        run.changes.append({})
        install(frame, going[0])
        completion: Any = None
        for statement in rest:
            completion = statement(frame)
            if completion is not None:
                completion = (
                    completion.then(frame, rest, alive) if type(completion) is Split else completion
                )
                break
        parts = [p for p in self.parts if p.completion is not None] + leave(frame, completion)
        run.group = self.parent
        return join(frame, self.parent, parts, self.site, alive)

    def returned(self, frame: list[Any]) -> Any:
        """What a function gives whose rows returned in different ways, or not at all."""
        for part in self.parts:
            if part.completion is None:
                part.values[RESULT] = None
            part.completion = RETURN
        join(frame, self.parent, self.parts, self.site, frozenset)
        return frame[RESULT]


class Exits:
    """The rows that left a loop while others stay in it."""

    def __init__(self, frame: list[Any], site: Site, alive: Alive) -> None:
        self.parent: Group = frame[0].group
        self.site, self.alive = site, alive
        self.parts: list[Part] = []
        frame[0].changes.append({})

    def stay(self, frame: list[Any], split: Split) -> bool:
        """Goes on with the rows that stay; returns whether there are any. The others leave with
        what they have."""
        run = frame[0]
        staying = [p for p in split.parts if p.completion in (None, CONTINUE)]
        so_far = {key: held(run, key) for key in run.changes[-1]}
        for part in split.parts:
            if part.completion not in (None, CONTINUE):
                part.changes = so_far | part.changes
                self.parts.append(part)
        if not staying:
            return False
        for part in staying:
            part.completion = None
        run.group = split.parent
        (whole,) = merged(frame, split.parent, staying, self.site, self.alive)
        install(frame, whole)
        return True

    def rejoin(
        self, frame: list[Any], completion: int | Split | None, staying: bool
    ) -> int | Split | None:
        """The completion of the loop, with all rows that went in; the last ones ended by
        `completion`."""
        parts = self.parts
        if staying:
            parts = parts + leave(frame, completion)
        else:
            forget(frame[0])
        for part in parts:
            part.completion = None if part.completion in (BREAK, CONTINUE) else part.completion
        frame[0].group = self.parent
        return join(frame, self.parent, parts, self.site, self.alive)


def divide(
    frame: list[Any], condition: Lanes, then: Side, otherwise: Side, site: Site, alive: Alive
) -> int | Split | None:
    """Runs `then` on the rows where the condition holds, `otherwise` on the others; the completion
    of both."""
    run, values = frame[0], contents(frame)
    parent: Group = run.group
    parts = []
    before = most = run.steps
    for side, group in zip((then, otherwise), _sides(run, condition), strict=True):
        install_values(frame, values)
        run.group, run.steps = group, before
        run.changes.append({})
        parts += leave(frame, side(frame))
        most = max(most, run.steps)
    run.group, run.steps = parent, most  # a row has taken no more
    return join(frame, parent, parts, site, alive)


def choose(frame: list[Any], condition: Lanes, then: Side, otherwise: Side, site: Site) -> Any:
    """The value of `then` in the rows where the condition holds, that of `otherwise` in the
    others."""
    run = frame[0]
    parent: Group = run.group
    groups = _sides(run, condition)
    values, changes = [], []
    before = most = run.steps
    for side, group in zip((then, otherwise), groups, strict=True):
        run.group, run.steps = group, before
        run.changes.append({})
        values.append(side(frame))
        changes.append(forget(run))
        most = max(most, run.steps)
    run.group, run.steps = parent, most
    indices = [g.origin for g in groups]
    put_all(run, _merged_changes(run, site, parent, groups, indices, changes))
    return merge(run, site, parent, groups, indices, values)


def _sides(run: Run, condition: Lanes) -> tuple[Group, Group]:
    holds = condition.array if condition.dtype.kind == "b" else condition.array != 0
    return condition.group.rows(run.backend.xp, holds), condition.group.rows(run.backend.xp, ~holds)


# ---- frames --------------------------------------------------------------------------------------


def contents(frame: list[Any]) -> list[Any]:
    """The values in a frame, of cells what they hold."""
    return [v[0] if type(v) is Cell else v for v in frame]


def install_values(frame: list[Any], values: list[Any]) -> None:
    """Puts values back that `contents` gave."""
    for k in range(RESULT, len(frame)):
        if type(frame[k]) is Cell:
            frame[k][0] = values[k]
        else:
            frame[k] = values[k]


def install(frame: list[Any], part: Part) -> None:
    """Goes on with the rows of a part."""
    frame[0].group = part.group
    install_values(frame, part.values)
    put_all(frame[0], part.changes)


def leave(frame: list[Any], completion: Any) -> list[Part]:
    """The parts that the rows which run make, now that they stop; what they changed is as it was
    before they began."""
    run = frame[0]
    changes = forget(run)
    if type(completion) is not Split:
        return [Part(run.group, completion, contents(frame), changes)]
    for part in completion.parts:
        part.changes = changes | part.changes
    return completion.parts


# ---- becoming one --------------------------------------------------------------------------------


def join(
    frame: list[Any], parent: Group, parts: list[Part], site: Site, alive: Alive
) -> int | Split | None:
    """The completion of a statement whose rows ended in these parts: the frame holds what all of
    them have, if they all ended alike."""
    whole = merged(frame, parent, parts, site, alive)
    if len(whole) > 1:
        return Split(parent, whole, site)
    install(frame, whole[0])
    frame[0].group = parent
    completion: int | None = whole[0].completion
    return completion


def merged(
    frame: list[Any], parent: Group, parts: list[Part], site: Site, alive: Alive
) -> list[Part]:
    """The parts that ended alike as one, for each way of ending."""
    by_completion: dict[Any, list[Part]] = {}
    for part in parts:
        by_completion.setdefault(part.completion, []).append(part)
    return [_as_one(frame, parent, alike, site, alive) for alike in by_completion.values()]


def _as_one(frame: list[Any], parent: Group, parts: list[Part], site: Site, alive: Alive) -> Part:
    if len(parts) == 1:
        return parts[0]
    run, groups = frame[0], [p.group for p in parts]
    group, indices = together(run, parent, groups)
    slots, values = alive(), []
    returns = parts[0].completion == RETURN
    for k in range(len(frame)):
        column = [p.values[k] for p in parts]
        first = column[0]
        matters = (
            returns
            if k == RESULT
            else slots is None or k - FRAME_HEAD in slots or type(frame[k]) is Cell
        )
        if not matters or all(v is first for v in column):
            values.append(first)
        else:
            values.append(merge(run, site, group, groups, indices, column))
    changes = _merged_changes(run, site, group, groups, indices, [p.changes for p in parts])
    return Part(group, parts[0].completion, values, changes)


def _merged_changes(
    run: Run,
    site: Site,
    group: Group,
    groups: Sequence[Group],
    indices: Sequence[Any],
    changes: list[dict[Any, Any]],
) -> dict[Any, Any]:
    """What rows of these groups changed beside the frame, as one; what some didn't change is there
    as it was."""
    found = {}
    for key in dict.fromkeys(key for changed in changes for key in changed):
        column = [changed[key] if key in changed else held(run, key) for changed in changes]
        found[key] = primal(merge(run, site, group, groups, indices, column))
    return found


def together(run: Run, parent: Group, groups: Sequence[Group]) -> tuple[Group, list[Any]]:
    """The group that has all the rows of `groups`, parts of `parent`, and where each of these has
    its own in it. What all of them can read, it can."""
    xp = run.backend.xp
    whole = groups[0]
    for group in groups:
        whole = common(whole, group) or parent
    ways = [g.way_to(whole) for g in groups]
    if sum(g.size for g in groups) == whole.size:
        return whole, ways
    rows = xp.sort(xp.concatenate(ways))
    return Group(len(rows), whole, rows), [xp.searchsorted(rows, way) for way in ways]


def merge(
    run: Run,
    site: Site,
    group: Group,
    groups: Sequence[Group],
    indices: Sequence[Any],
    values: list[Any],
) -> Any:
    """Values of several groups as one of all their rows. Raises ApartError where they can't be
    one."""
    first = values[0]
    if all(v is first for v in values):
        return first
    plain = [primal(v.box if type(v) is Variable else v) for v in values]
    if any(
        v is UNSET or (type(v) is Lanes and not g.within(v.group))
        for v, g in zip(plain, groups, strict=True)
    ):
        return _where_set(run, site, group, groups, indices, values)
    if all(map(is_number, plain)):
        if all(type(v) is not Lanes and not shape_of(v) and _are_one(v, plain[0]) for v in values):
            return first
        if len({shape_of(v) for v in plain}) > 1 or len({_kind(v) for v in plain} | {"n"}) > 2:
            apart_by(run, group, indices)
        numbers = [v.box if type(v) is Variable else v for v in values]
        options = {"indices": indices, "groups": groups, "group": group}
        return apply(run, site, tuple(numbers), options)
    if all(type(v) is List for v in plain) and len({len(v) for v in plain}) == 1:
        columns = zip(*[list(v) for v in plain], strict=True)
        return List([merge(run, site, group, groups, indices, list(column)) for column in columns])
    if all(type(v) is dict for v in plain) and len({tuple(v) for v in plain}) == 1:
        return {
            key: merge(run, site, group, groups, indices, [v[key] for v in plain]) for key in first
        }
    if all(type(v) is str and v == first for v in plain):
        return first
    apart_by(run, group, indices)


def _are_one(a: Any, b: Any) -> bool:
    """Whether two numbers are the same, and zeros of the same sign."""
    return type(a) is type(b) and bool(a == b) and (a != 0 or repr(a) == repr(b))


def _kind(value: Any) -> str:
    """What can become one array: bools, and numbers."""
    is_bool = type(value) is bool or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    return "b" if is_bool else "n"


def _where_set(
    run: Run,
    site: Site,
    group: Group,
    groups: Sequence[Group],
    indices: Sequence[Any],
    values: list[Any],
) -> Any:
    """A name that only some rows have assigned: a value of theirs alone."""
    xp = run.backend.xp
    some: list[tuple[Any, Group, Any]] = []  # values, their rows, and where these are in `group`
    for value, own, index in zip(values, groups, indices, strict=True):
        inner = primal(value)
        if type(inner) is Lanes and not own.within(inner.group):  # of some rows of the part
            found = shared(run, Site(PICK, site.span), value, own)
            if found is None:
                continue
            value, own, mine = found
            index = index[mine]
        if value is not UNSET and own.size:
            some.append((value, own, index))
    if not some:
        return UNSET
    if not all(is_number(primal(value)) for value, _, _ in some):
        apart_by(run, group, indices)
    rows = xp.sort(xp.concatenate([index for _, _, index in some]))
    inner = group if len(rows) == group.size else Group(len(rows), group, rows)
    options = {
        "indices": [xp.searchsorted(rows, index) for _, _, index in some],
        "groups": [own for _, own, _ in some],
        "group": inner,
    }
    return apply(run, site, tuple([value for value, _, _ in some]), options)
