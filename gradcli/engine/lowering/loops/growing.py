"""Lists that a loop makes longer: arrays with room for all numbers that the loop appends, one by
one or as lists of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....diagnostics import Span
from ...ir.instructions import Check, Value
from ...ir.types import ArrayType, is_float
from ..functions.requests import Requests
from ..held.columns import array_type
from ..held.kinds import Kind, ListOf, Stored, StoredOf, Table, kind_of
from ..held.names import Name
from ..values.arrays import MAX_ELEMENTS


class Grown(NamedTuple):
    """A name that holds a growing list, and the number of its items after the loop."""

    name: Name
    size: int


class GrowingLists(Requests):
    """The lowering of lists to which each iteration of a loop appends a number, or a list of
    numbers."""

    def grow(
        self,
        names: Sequence[Name],
        given: Sequence[Kind],
        turns: Value,
        only_long: bool,
        span: Span,
    ) -> list[Grown]:
        """Makes room in the lists to which each iteration of a loop appends something, if
        `only_long` in those of many floats alone. `given` are the kinds after the first
        iteration."""
        grown: list[Grown] = []
        for name, held, kind in zip(names, self.names.of(names), given, strict=True):
            items = _appended(kind_of(held), kind)
            if items is not None:
                appended = items.shape[0] - len(held)
                size = len(held) + appended * max(self.known_int(turns, span), 0)
                whole = ArrayType(items.element, (size, *items.shape[1:]))
                is_long = whole.size > MAX_ELEMENTS and is_float(whole.element)
                if only_long and not (is_long and self.puts_lists_in_memory):
                    continue
                columns = Stored(self.builder.zero(whole), listed=True)
                growing = Table(columns, self.builder.constant(0))
                for item in held:
                    growing = self.appended(growing, item, span)
                self.names.held[name] = growing
                grown.append(Grown(name, size))
        return grown

    def settle(self, grown: Sequence[Grown], span: Span) -> None:
        """Makes the growing lists finished ones after the loop. Steps back if one isn't full."""
        for name, size in grown:
            held = self.names.held[name]
            is_full = self.builder.apply("eq", [held.count, self.builder.constant(size)], span)
            self.builder.add(Check(is_full))
            self.names.held[name] = held.columns


def _appended(before: Kind, after: Kind) -> ArrayType | None:
    """The type of a list as an array after an iteration, if that appends numbers, or lists of
    numbers, to a list of such; otherwise None."""
    if not isinstance(before, ListOf) or not isinstance(after, ListOf):
        return None
    return _type_of(after) if len(after.items) > len(before.items) else None


def _type_of(kind: ListOf) -> ArrayType | None:
    """The type of a list as an array. Its items may be in memory."""
    row = kind.items[0]
    if not isinstance(row, StoredOf) or not row.listed or any(item != row for item in kind.items):
        return array_type(kind)
    return ArrayType(row.type.element, (len(kind.items), *row.type.shape))
