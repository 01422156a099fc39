"""The iterations of a loop that a kernel runs, and how it ended."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ..lowering.frame_loops import COUNTED, ITEMS, Iterated
from ..lowering.values.arrays import MAX_ELEMENTS
from ..operations.sequences import Counted, Listed, Rows, Source, Window, Zipped
from ..values.kinds import UNSET, List
from .region_tables import columns_with_room
from .region_values import ANY, as_parameter, is_long, list_type

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
