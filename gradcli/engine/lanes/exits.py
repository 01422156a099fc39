"""A loop that some rows leave while others stay in it."""

from __future__ import annotations

from typing import Any

from ..trace.changes import forget, held
from ..trace.tape import Site
from ..values.kinds import BREAK, CONTINUE
from ..values.lanes import Group
from .parts import Alive, Part, Split, join, merge_by_completion, resume, stop_rows


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
