"""The room of the lists that a loop of a frame makes longer, and whether it pays to copy them to
memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...lang import program
from ..lowering.held.columns import ROOM
from ..values.kinds import List, slot_value
from .iterations import Ran

MOST, LARGER = 2**20, 8  # items: most, where a list may be full, and times as many the next time
COPIED = 32  # items of a list that are copied in the time of an iteration of the interpreter


class ListRoom:
    """The room of such lists.

    slots  those of the lists
    size   the items for which each has room; 0 if there are none
    usual  the iterations of the last run of the loop
    """

    def __init__(self, slots: Collection[program.Slot]) -> None:
        self.slots = {slot.index for slot in slots}
        self.size = ROOM if slots else 0
        self._held = list(slots)
        self._ran = 0  # iterations of this run of the loop so far
        self.usual = ROOM

    def left(self, frame: list[Any], rest: int | None) -> int | None:
        """For so many more items there is room in each list, which is made first. None where too
        few iterations are expected to pay for copying the longest one: the `rest`, if that is
        known, otherwise as many as in the last run. A loop that was short is tried again now and
        then."""
        held = [slot_value(frame, slot) for slot in self._held]
        longest = max([len(each) for each in held if type(each) is List], default=0)
        if rest is None and self._ran == 0 and COPIED * self.usual < longest:
            self.usual = 2 * self.usual + 1
            return None
        if rest is not None and COPIED * rest < longest:
            return None
        while self.size < 2 * longest:
            self.size *= LARGER
        return self.size - longest

    def enlarge(self) -> bool:
        """Makes more room, where a list may be full. Returns whether there is more."""
        is_small = 0 < self.size < MOST
        self.size *= LARGER if is_small else 1
        return is_small

    def learn(self, ran: Ran) -> None:
        """Takes note of iterations of the loop."""
        self._ran += ran.iterations
        if ran.completion is not None or ran.stopped:
            self.usual, self._ran = self._ran, 0
