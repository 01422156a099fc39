"""Values that the record of a call keeps, without references to the segment that it is in.

A segment that refers to itself would never be freed by reference counting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..trace.tape import Segment, Traced
from ..values.boxes import level_of, up_to
from ..values.kinds import map_structure, read


class Held:
    """A traced value as a record keeps it: without its segment, which may be the record's own."""

    __slots__ = ("number", "primal")

    def __init__(self, primal: Any, number: int) -> None:
        self.primal, self.number = primal, number


def shelve(value: Any, level: int, held: list[Traced]) -> Any:
    """A value in the form that a record of a trace keeps: without variables and without boxes above
    the level of the trace. Values traced at this level become `Held`, and are appended to
    `held`."""

    def put(item: Any) -> Any:
        item = up_to(read(item), level)
        if level_of(item) != level:
            return item
        held.append(item)
        return Held(item[0], item[1])

    return map_structure(put, value)


def unshelve(value: Any, segment: Segment) -> Any:
    """The value that `shelve` made `value` of, for a record of `segment`."""
    return map_structure(
        lambda v: (v.primal, v.number, segment.holder(v.number)) if type(v) is Held else v, value
    )


def numbered(value: Any, counts: Callable[[Any], bool]) -> Any:
    """The structure of a value with running numbers from 0 for the items where `counts` holds, and
    None for the others."""
    numbers = iter(range(2**62))
    return map_structure(lambda item: next(numbers) if counts(item) else None, value)
