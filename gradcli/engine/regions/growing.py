"""Lists that a loop makes longer: arrays with room for all numbers that the loop appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...diagnostics import Span
from ..ir.instructions import Check, Value
from ..ir.types import FLOATS, I64, ArrayType
from .kinds import Growing, Kind, ListOf, Stored, kind_of
from .names import Name
from .requests import Requests


class Grown(NamedTuple):
    """A name that holds a growing list, and the number of its items after the loop."""

    name: Name
    size: int


class GrowingLists(Requests):
    """The lowering of lists to which each iteration of a loop appends a number."""

    def grow(
        self, names: Sequence[Name], given: Sequence[Kind], turns: Value, span: Span
    ) -> list[Grown]:
        """Makes room in the lists to which each iteration of a loop appends a number. `given` are
        the kinds after the first iteration."""
        grown: list[Grown] = []
        for name, held, kind in zip(names, self.names.of(names), given, strict=True):
            numbers = _appended(kind_of(held), kind)
            if numbers is not None:
                size = numbers.size + max(self.known_int(turns, span), 0)
                array = self.builder.zero(ArrayType(numbers.element, (size,)))
                for k, item in enumerate(held):
                    array = self.builder.put(array, self.builder.constant(k), item)
                count = self.builder.constant(numbers.size)
                self.names.held[name] = Growing(array, count)
                grown.append(Grown(name, size))
        return grown

    def settle(self, grown: Sequence[Grown], span: Span) -> None:
        """Makes the growing lists finished ones after the loop. Steps back if one isn't full."""
        for name, size in grown:
            held = self.names.held[name]
            is_full = self.builder.apply("eq", [held.count, self.builder.constant(size)], span)
            self.builder.add(Check(is_full))
            self.names.held[name] = Stored(held.value, listed=True)


def _appended(before: Kind, after: Kind) -> ArrayType | None:
    """The type of a list's numbers as an array, if an iteration appends one number; otherwise
    None."""
    if not isinstance(before, ListOf) or not isinstance(after, ListOf):
        return None
    if len(after.items) != len(before.items) + 1:
        return None
    for kind in (*FLOATS, I64):
        if all(item == kind for item in after.items):
            return ArrayType(kind, (len(before.items),))
    return None
