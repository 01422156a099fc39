"""Lists that a loop makes longer: arrays with room for all numbers that the loop appends, one by
one or as lists of these; tables with room for other items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...ir.instructions import Branch, For, Instruction, Operation, Value, every
from ...ir.types import BOOL, ArrayType, is_float
from ..functions.requests import Requests
from ..held.columns import array_type, columns_of, item_of, table
from ..held.kinds import FEW, Kind, ListOrArray, Stored, Table, flat
from ..held.names import Name
from ..values.arrays import MAX_ELEMENTS


class Grown(NamedTuple):
    """A name that holds a growing list, and the number of its items after the loop."""

    name: Name
    size: int


class GrowingLists(Requests):
    """The lowering of lists to which each iteration of a loop appends something."""

    def grow(
        self,
        names: Sequence[Name],
        given: Sequence[Kind],
        turns: Value,
        is_short: bool,
        is_large: bool,
    ) -> list[Grown]:
        """Makes room in the lists to which each iteration of a loop appends something: in lists of
        numbers, but if the loop `is_short` only in those of many floats; in lists of other items if
        its number of iterations is known and it isn't short. A loop that `is_large`, whose
        iterations are too much code to be lowered one by one, is like one that isn't short. `given`
        are the kinds after the first iteration."""
        grown: list[Grown] = []
        for name, held, kind in zip(names, self.names.of(names), given, strict=True):
            if type(held) is not tuple or type(kind) is not tuple or len(kind) <= len(held):
                continue
            numbers = _type_of(kind)
            if numbers is None and (turns not in self.builder.known or (is_short and not is_large)):
                continue
            appended = len(kind) - len(held)
            most = self.most_of(turns)
            size = len(held) + appended * max(self.known_int(turns) if most is None else most, 0)
            if numbers is None:
                growing = self._room_for(held, kind, size)
            else:
                whole = ArrayType(numbers.element, (size, *numbers.shape[1:]), listed=True)
                is_long = whole.size > MAX_ELEMENTS and is_float(whole.element)
                if is_short and not is_large and not (is_long and self.puts_lists_in_memory):
                    continue
                growing = Table(Stored(self.builder.zero(whole)), self.builder.constant(0))
                for item in held:
                    growing = self.appended(growing, item)
            if growing is not None:
                self.names.held[name] = growing
                grown.append(Grown(name, size))
        return grown

    def most_of(self, turns: Value) -> int | None:
        """How many iterations there are at most. None if that isn't known, or could be known
        exactly."""
        bounds = self.builder.bounds_of(turns)
        if bounds is None or (turns not in self.builder.known and self.can_be_known(turns)):
            return None
        return bounds[1]

    def _room_for(self, held: tuple[Any, ...], kind: tuple[Kind, ...], size: int) -> Table | None:
        """A list with room for items of one kind, such as arrays; None if there is none, or if they
        are few. `kind` is that of the longer list."""
        item = item_of(kind)
        if item is None or size <= FEW:
            return None
        has_bools = BOOL in flat(item) and not isinstance(item, ListOrArray)
        columns = None if has_bools else columns_of(item, size)
        return None if columns is None else table(self.builder, held, columns)

    def settle(self, grown: Sequence[Grown]) -> None:
        """Makes the growing lists finished ones after the loop. One that isn't full on all paths,
        as where an iteration may also take items away, stays a table."""
        made = {v: made for made in every(self.builder.block) for v in made.results if grown}
        for name, size in grown:
            held = self.names.held[name]
            if _sum_of(held.count, made, self.builder.known) == (None, size):
                is_one = isinstance(held.columns, Stored) and held.columns.listed
                finished = Table(held.columns, self.builder.constant(size))
                self.names.held[name] = held.columns if is_one else finished


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


def _type_of(kind: tuple[Kind, ...]) -> ArrayType | None:
    """The type of a list of numbers, or of lists of numbers, as an array; None for a list of other
    things. Its items may be in memory."""
    row = kind[0]
    if not isinstance(row, Stored) or not row.listed or any(item != row for item in kind):
        return array_type(kind)
    return ArrayType(row.type.element, (len(kind), *row.shape), listed=True)
