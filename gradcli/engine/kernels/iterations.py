"""The iterations of a loop that a kernel runs, how it ended, and the room of lists that become
longer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeAlias

from ...lang import program
from ..lowering.frames import COUNTED, ITEMS, Iterated
from ..lowering.held.columns import ROOM
from ..lowering.values.arrays import MAX_ELEMENTS
from ..operations.sequences import Counted, Listed, Rows, Source, Window, Zipped
from ..values.kinds import UNSET, List, slot_value
from .region_values import ANY, as_parameter, columns_with_room, is_long, list_type

Items: TypeAlias = range | Window


class Ran(NamedTuple):
    """Iterations that a kernel ran: the completion, if one of them ended the loop; their number;
    and whether the interpreter must run the next one."""

    completion: int | None
    iterations: int
    stopped: bool


class Sequences:
    """The sequences that a loop goes over, for its region: `over` says what they are, or is None if
    they aren't compiled; `value` holds them, and is unset for a range."""

    def __init__(self, items: Items) -> None:
        self.over: Iterated | None
        if type(items) is range:
            self.over, self.value = items.step, UNSET
        else:
            assert type(items) is Window
            self.over, self.value = _of(items.source)


def _of(source: Source) -> tuple[Any, Any]:
    """What a sequence is, in terms of `over`, and the value that holds it."""
    if isinstance(source, Zipped):
        parts = [_of(part) for part in source.parts]
        over = tuple([over for over, _ in parts])
        return None if None in over else over, List([value for _, value in parts])
    if isinstance(source, Counted):
        return COUNTED, None
    if isinstance(source, Rows):
        return ITEMS, source.value
    assert isinstance(source, Listed)
    held = List(source.items)
    kind = list_type(held)
    if kind is None:
        n = len(held)
        is_table = n > MAX_ELEMENTS and columns_with_room(held, n, ANY) is not None
        return (ITEMS, held) if is_table else (None, None)
    if len(kind.shape) == 1:
        return ITEMS, as_parameter(held)
    return (ITEMS, held) if is_long(kind) else (None, None)


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
