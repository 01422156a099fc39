"""Rows that take different ways, by a condition or out of a loop: each way runs on its own rows
only, and the results merge.

`divide` handles statements, `choose` expressions, and `Exits` loops. Each side runs with a group of
its own (`values/lanes.py`), so no row executes a branch that it doesn't take. The sides may
complete in different ways, for example one by `break` and the other by falling through. The
completion of the statement is then a `Split` (`parts.py`), and blocks, loops and calls continue
with the rows that have not left them. Everything that a side can change is in its frame or noted in
`run.changes`: states of variables, gradients and outputs.
"""

from __future__ import annotations

from typing import Any

from ..trace.changes import forget, held, put_all
from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import BREAK, CONTINUE
from ..values.lanes import Group, Lanes
from .merging import Meeting, merge, merged_changes
from .parts import (
    Alive,
    Part,
    Side,
    Split,
    frame_values,
    join,
    merge_by_completion,
    resume,
    set_frame_values,
    stop_rows,
)


def divide(
    frame: list[Any], condition: Lanes, then: Side, otherwise: Side, site: Site, alive: Alive
) -> int | Split | None:
    """Runs `then` on the rows where the condition holds and `otherwise` on the others. Returns the
    completion of both."""
    run, values = frame[0], frame_values(frame)
    parent: Group = run.group
    parts = []
    before = most = run.steps
    for side, group in zip((then, otherwise), _sides(run, condition), strict=True):
        set_frame_values(frame, values)
        run.group, run.steps = group, before
        run.changes.append({})
        parts += stop_rows(frame, side(frame))
        most = max(most, run.steps)
    run.group, run.steps = parent, most  # steps are counted per row
    return join(frame, parent, parts, site, alive)


def choose(frame: list[Any], condition: Lanes, then: Side, otherwise: Side, site: Site) -> Any:
    """The value of `then` in the rows where the condition holds, and of `otherwise` in the rest."""
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
    meeting = Meeting(run, site, parent, groups, [g.origin for g in groups])
    put_all(run, merged_changes(meeting, changes))
    return merge(meeting, values)


def _sides(run: Run, condition: Lanes) -> tuple[Group, Group]:
    """The rows where the condition holds, and those where it doesn't."""
    holds = condition.array if condition.dtype.kind == "b" else condition.array != 0
    return condition.group.rows(run.backend.xp, holds), condition.group.rows(run.backend.xp, ~holds)


class Exits:
    """The rows that have left a loop while others are still in it."""

    def __init__(self, frame: list[Any], site: Site, alive: Alive) -> None:
        self.parent: Group = frame[0].group
        self.site, self.alive = site, alive
        self.parts: list[Part] = []
        frame[0].changes.append({})

    def stay(self, frame: list[Any], split: Split) -> bool:
        """Continues with the rows that stay in the loop, and returns whether there are any. The
        others leave with the values they have."""
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
        (whole,) = merge_by_completion(frame, split.parent, staying, self.site, self.alive)
        resume(frame, whole)
        return True

    def rejoin(
        self, frame: list[Any], completion: int | Split | None, staying: bool
    ) -> int | Split | None:
        """The completion of the loop for all rows that entered it. The last ones in it ended with
        `completion`."""
        parts = self.parts
        if staying:
            parts = parts + stop_rows(frame, completion)
        else:
            forget(frame[0])
        for part in parts:
            part.completion = None if part.completion in (BREAK, CONTINUE) else part.completion
        frame[0].group = self.parent
        return join(frame, self.parent, parts, self.site, self.alive)
