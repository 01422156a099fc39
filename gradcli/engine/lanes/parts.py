"""The parts that rows divide into: rows that completed a statement in the same way, with what their
frame holds.

The frame of a function is shared by all rows that run. Where they divide, each part keeps its own
copy of the frame's values, and `join` merges the copies into one frame again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...lang.program.liveness import Slots
from ..trace.changes import forget, put_all
from ..trace.tape import Site
from ..values.kinds import FRAME_HEAD, RESULT, RETURN, Cell
from ..values.lanes import Group
from .merging import join_groups, merge, merged_changes

Side = Callable[[list[Any]], Any]
Alive = Callable[[], "Slots | None"]  # the slots that may be read later; None for all


class Part:
    """Rows that completed a statement in the same way: their completion, the values in their frame
    (with what they return), and what they changed outside of it."""

    __slots__ = ("changes", "completion", "group", "values")

    def __init__(
        self, group: Group, completion: Any, values: list[Any], changes: dict[Any, Any]
    ) -> None:
        self.group, self.completion, self.values, self.changes = group, completion, values, changes


class Split:
    """The completion of a statement that its rows completed in different ways."""

    __slots__ = ("parent", "parts", "site")

    def __init__(self, parent: Group, parts: list[Part], site: Site) -> None:
        self.parent, self.parts, self.site = parent, parts, site

    def then(self, frame: list[Any], rest: Iterator[Side], alive: Alive) -> int | Split | None:
        """Runs the rest of a block for the rows that fell through, and returns the completion of
        the whole block. `alive` gives the slots that are live at its end."""
        going = [p for p in self.parts if p.completion is None]
        if not going:
            return self
        run = frame[0]
        run.changes.append({})
        resume(frame, going[0])
        completion: Any = None
        for statement in rest:
            completion = statement(frame)
            if completion is not None:
                completion = (
                    completion.then(frame, rest, alive) if type(completion) is Split else completion
                )
                break
        parts = [p for p in self.parts if p.completion is not None] + stop_rows(frame, completion)
        run.group = self.parent
        return join(frame, self.parent, parts, self.site, alive)

    def returned(self, frame: list[Any]) -> Any:
        """The result of a function whose rows returned at different places, or not at all."""
        for part in self.parts:
            if part.completion is None:
                part.values[RESULT] = None
            part.completion = RETURN
        join(frame, self.parent, self.parts, self.site, frozenset)
        return frame[RESULT]


def frame_values(frame: list[Any]) -> list[Any]:
    """The values in a frame, and of its cells the values that they hold."""
    return [v[0] if type(v) is Cell else v for v in frame]


def set_frame_values(frame: list[Any], values: list[Any]) -> None:
    """Puts values back into a frame that `frame_values` read from it."""
    for k in range(RESULT, len(frame)):
        if type(frame[k]) is Cell:
            frame[k][0] = values[k]
        else:
            frame[k] = values[k]


def resume(frame: list[Any], part: Part) -> None:
    """Makes the rows of a part the rows that run, with their frame and their changes."""
    frame[0].group = part.group
    set_frame_values(frame, part.values)
    put_all(frame[0], part.changes)


def stop_rows(frame: list[Any], completion: Any) -> list[Part]:
    """Stops the rows that run: returns them as parts, and undoes what they changed since the last
    division."""
    run = frame[0]
    changes = forget(run)
    if type(completion) is not Split:
        return [Part(run.group, completion, frame_values(frame), changes)]
    for part in completion.parts:
        part.changes = changes | part.changes
    return completion.parts


def join(
    frame: list[Any], parent: Group, parts: list[Part], site: Site, alive: Alive
) -> int | Split | None:
    """The completion of a statement whose rows ended it in these parts. If they all ended it in the
    same way, the frame holds their merged values."""
    whole = merge_by_completion(frame, parent, parts, site, alive)
    if len(whole) > 1:
        return Split(parent, whole, site)
    resume(frame, whole[0])
    frame[0].group = parent
    completion: int | None = whole[0].completion
    return completion


def merge_by_completion(
    frame: list[Any], parent: Group, parts: list[Part], site: Site, alive: Alive
) -> list[Part]:
    """One part for each way in which rows completed the statement."""
    by_completion: dict[Any, list[Part]] = {}
    for part in parts:
        by_completion.setdefault(part.completion, []).append(part)
    return [_merge_parts(frame, parent, alike, site, alive) for alike in by_completion.values()]


def _merge_parts(
    frame: list[Any], parent: Group, parts: list[Part], site: Site, alive: Alive
) -> Part:
    """Parts with the same completion as one. Slots that nobody reads later are not merged."""
    if len(parts) == 1:
        return parts[0]
    run, groups = frame[0], [p.group for p in parts]
    meeting = join_groups(run, site, parent, groups)
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
            values.append(merge(meeting, column))
    changes = merged_changes(meeting, [p.changes for p in parts])
    return Part(meeting.group, parts[0].completion, values, changes)
