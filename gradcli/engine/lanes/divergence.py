"""Conditions that differ between rows: each side runs on its own rows only, and the results merge.

`divide` handles statements, `choose` expressions. Each side runs with a group of its own
(`values/lanes.py`), so no row executes a branch that it doesn't take. The sides may complete in
different ways, for example one by `break` and the other by falling through. The completion of the
statement is then a `Split` (`parts.py`), and blocks, loops and calls continue with the rows that
have not left them. Everything that a side can change is in its frame or noted in `run.changes`:
states of variables, gradients and outputs.
"""

from __future__ import annotations

from typing import Any

from ..trace.changes import forget, put_all
from ..trace.run import Run
from ..trace.tape import Site
from ..values.lanes import Group, Lanes
from .merging import merge, merged_changes
from .parts import Alive, Side, Split, frame_values, join, set_frame_values, stop_rows


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
    indices = [g.origin for g in groups]
    put_all(run, merged_changes(run, site, parent, groups, indices, changes))
    return merge(run, site, parent, groups, indices, values)


def _sides(run: Run, condition: Lanes) -> tuple[Group, Group]:
    """The rows where the condition holds, and those where it doesn't."""
    holds = condition.array if condition.dtype.kind == "b" else condition.array != 0
    return condition.group.rows(run.backend.xp, holds), condition.group.rows(run.backend.xp, ~holds)
