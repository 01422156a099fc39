"""Lists that a loop makes longer: arrays with room for all numbers that the loop appends, one by
one or as lists of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...ir.instructions import Branch, For, Instruction, Operation, Value, every
from ...ir.types import ArrayType, is_float
from ..functions.requests import Requests
from ..held.columns import array_type
from ..held.kinds import Kind, Stored, Table, kind_of
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
        self, names: Sequence[Name], given: Sequence[Kind], turns: Value, only_long: bool
    ) -> list[Grown]:
        """Makes room in the lists to which each iteration of a loop appends something, if
        `only_long` in those of many floats alone. `given` are the kinds after the first
        iteration."""
        grown: list[Grown] = []
        for name, held, kind in zip(names, self.names.of(names), given, strict=True):
            items = _appended(kind_of(held), kind)
            if items is not None:
                appended = items.shape[0] - len(held)
                size = len(held) + appended * max(self.known_int(turns), 0)
                whole = ArrayType(items.element, (size, *items.shape[1:]), listed=True)
                is_long = whole.size > MAX_ELEMENTS and is_float(whole.element)
                if only_long and not (is_long and self.puts_lists_in_memory):
                    continue
                columns = Stored(self.builder.zero(whole))
                growing = Table(columns, self.builder.constant(0))
                for item in held:
                    growing = self.appended(growing, item)
                self.names.held[name] = growing
                grown.append(Grown(name, size))
        return grown

    def settle(self, grown: Sequence[Grown]) -> None:
        """Makes the growing lists finished ones after the loop. One that isn't full on all paths,
        as where an iteration may also take items away, stays a table."""
        made = {v: made for made in every(self.builder.block) for v in made.results if grown}
        for name, size in grown:
            held = self.names.held[name]
            if _sum_of(held.count, made, self.builder.known) == (None, size):
                self.names.held[name] = held.columns


def _sum_of(
    value: Value, made_by: Mapping[Value, Instruction], known: Mapping[Value, Any]
) -> tuple[Value | None, int]:
    """A value and an int whose sum is this value; None and an int for a known one."""
    if (n := known.get(value)) is not None:
        return None, n
    made = made_by.get(value)
    k = made.results.index(value) if made is not None else 0
    if isinstance(made, Operation) and made.op.name == "add":
        (a, m), (b, n) = [_sum_of(each, made_by, known) for each in made.operands]
        if a is None or b is None:
            return b if a is None else a, m + n
    if isinstance(made, Branch):
        sides = [side.results[k] for side in (made.then, made.otherwise)]
        then, otherwise = [_sum_of(each, made_by, known) for each in sides]
        if then == otherwise:
            return then
    if isinstance(made, For) and (turns := known.get(made.count)) is not None:
        first, n = _sum_of(made.initial[k], made_by, known)
        last, more = _sum_of(made.body.results[k], made_by, known)
        if last is made.carried[k]:
            return first, n + more * max(turns, 0)
    return value, 0


def _appended(before: Kind, after: Kind) -> ArrayType | None:
    """The type of a list as an array after an iteration, if that appends numbers, or lists of
    numbers, to a list of such; otherwise None."""
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return None
    return _type_of(after) if len(after) > len(before) else None


def _type_of(kind: tuple[Kind, ...]) -> ArrayType | None:
    """The type of a list as an array. Its items may be in memory."""
    row = kind[0]
    if not isinstance(row, Stored) or not row.listed or any(item != row for item in kind):
        return array_type(kind)
    return ArrayType(row.type.element, (len(kind), *row.shape), listed=True)
