"""Iterations of a loop that a kernel runs, and how it ended."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ..operations.sequences import Counted, Listed, Rows, Source, Window, Zipped
from ..regions.frame_loops import COUNTED, ITEMS, Iterated
from ..values.kinds import UNSET, List
from .region_values import given, is_long, list_type

Items: TypeAlias = range | Window


class Ran(NamedTuple):
    """Iterations that a kernel ran: how the loop ended, if it did with one of them; how many they
    were; and whether the interpreter must run the next one."""

    completion: int | None
    iterations: int
    stopped: bool


class Sequences:
    """What the region of a loop takes of the sequences that it goes over: `over` says what they
    are, None where that isn't compiled; `value` holds them, and is unset for a range."""

    def __init__(self, items: Items) -> None:
        self.over: Iterated | None
        if type(items) is range:
            self.over, self.value = items.step, UNSET
        else:
            assert type(items) is Window
            self.over, self.value = _of(items.source)


def _of(source: Source) -> tuple[Any, Any]:
    """What a sequence is, as `over` says it, and the value that holds it."""
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
        return None, None
    if len(kind.shape) == 1:
        return ITEMS, given(held)
    return (ITEMS, held) if is_long(kind) else (None, None)
