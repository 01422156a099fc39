"""The entries of stacks: which pop takes the entries of which push.

A pullback mirrors the region before it: its loops pop what loops pushed, and its branches what
branches pushed. So the content of a stack is read off the text, without running it.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeAlias

from ...ir.instructions import (
    Block,
    Branch,
    Constant,
    For,
    Instruction,
    NewStack,
    Operation,
    Pop,
    Push,
    Value,
    While,
    every,
)
from ...ir.types import STACK
from ..copying import used


class Pair(NamedTuple):
    """A push, the pop that takes its entries, and the blocks that hold them."""

    push: Push
    pushing: Block
    pop: Pop
    popping: Block


class Unpaired(Exception):  # noqa: N818 - an answer, not an error
    """The pushes and pops of a stack don't mirror each other."""


class _Pushed(NamedTuple):
    push: Push
    block: Block


class _Loop(NamedTuple):
    """The entries that each iteration of a loop left on a stack."""

    items: _Items
    made: While | For


class _Sides(NamedTuple):
    """The entries that either side of a branch left on a stack."""

    then: _Items
    otherwise: _Items


_Item: TypeAlias = _Pushed | _Loop | _Sides
_Items: TypeAlias = tuple[_Item, ...]


class _Held(NamedTuple):
    """The content of a stack: what was pushed since it was `base`."""

    base: Value
    items: _Items


class _Below(Exception):  # noqa: N818 - an answer, not an error
    """A pop takes an entry from below `base`, where the content of the stack is followed from."""

    def __init__(self, base: Value) -> None:
        super().__init__()
        self.base = base


class Entries:
    """The pairs of pushes and pops of a block.

    pairs    those where one pop takes all entries of the push
    origins  for each value that a pop gives, the one that was pushed; for the number of an
             iteration that a loop of a pullback computes, the number in the loop that it belongs to
    """

    def __init__(self, block: Block) -> None:
        """Raises Unpaired."""
        self.origins: dict[Value, Value] = {}
        stacks = [value for value in block.parameters if value.type == STACK]
        self._held = {value: _Held(value, ()) for value in stacks}
        self._found: list[Pair] = []
        self._made = {v: made for made in every(block) for v in made.results}
        try:
            self._block(block)
        except _Below:
            raise Unpaired from None
        times = Counter([id(pair.push) for pair in self._found])
        self.pairs = [pair for pair in self._found if times[id(pair.push)] == 1]

    def _block(self, block: Block) -> None:
        for made in block.instructions:
            if isinstance(made, NewStack):
                self._held[made.result] = _Held(made.result, ())
            elif isinstance(made, Push):
                base, items = self._held[made.stack]
                self._held[made.result] = _Held(base, (*items, _Pushed(made, block)))
            elif isinstance(made, Pop):
                self._pop(made, block)
            elif isinstance(made, While | For):
                self._loop(made)
            elif isinstance(made, Branch):
                self._branch(made)
            elif any(value.type == STACK for value in made.operands):
                raise Unpaired

    def _pop(self, made: Pop, block: Block) -> None:
        base, items = self._held[made.stack]
        if not items:
            raise _Below(base)
        top = items[-1]
        if not isinstance(top, _Pushed):
            raise Unpaired
        if [v.type for v in top.push.entry] != [v.type for v in made.entry]:
            raise Unpaired
        self._found.append(Pair(top.push, top.block, made, block))
        self.origins.update(zip(made.entry, top.push.entry, strict=True))
        self._held[made.result] = _Held(base, items[:-1])

    def _loop(self, made: While | For) -> None:
        """A loop that pushes, or that pops what another one pushed. Which stacks it pops from is
        found out by following it."""
        stacks = [k for k, value in enumerate(made.initial) if value.type == STACK]
        popped: dict[int, _Loop] = {}
        while True:
            found = len(self._found)
            for k in stacks:
                start = popped[k].items if k in popped else ()
                held = _Held(made.carried[k], start)
                self._held[made.carried[k]] = held
                if isinstance(made, While):
                    self._held[made.condition.parameters[k]] = held
            try:
                if isinstance(made, While):
                    self._block(made.condition)
                self._block(made.body)
                break
            except _Below as below:
                del self._found[found:]
                [k] = [k for k in stacks if made.carried[k] is below.base] or [-1]
                if k < 0 or k in popped:
                    raise Unpaired from None
                popped[k] = self._loop_before(made, made.initial[k])
        for k in stacks:
            base, items = self._held[made.initial[k]]
            own_base, own = self._held[made.body.results[k]]
            if own_base is not made.carried[k] or (own and k in popped):
                raise Unpaired
            if k in popped:
                items = items[:-1]
            elif own:
                items = (*items, _Loop(own, made))
            self._held[made.results[k]] = _Held(base, items)

    def _loop_before(self, made: While | For, stack: Value) -> _Loop:
        """The loop that left the entries that this one pops."""
        base, items = self._held[stack]
        if not items:
            raise _Below(base)
        top = items[-1]
        if not isinstance(top, _Loop):
            raise Unpaired
        if isinstance(made, For) and isinstance(top.made, For):
            for inner in made.body.instructions:
                if self._is_own_number(inner, made, top.made):
                    self.origins[inner.results[0]] = top.made.body.parameters[0]
        return top

    def _is_own_number(self, inner: Instruction, made: For, before: For) -> bool:
        """Whether an instruction of a loop counts down the iterations of the loop before."""
        if not isinstance(inner, Operation) or inner.op.name != "sub":
            return False
        last, number = inner.operands
        if number is not made.body.parameters[0]:
            return False
        count = self.origins.get(made.count, made.count)
        if count is not before.count and self._int(count) is None:
            return False
        if self._int(count) != self._int(before.count):
            return False
        ends = self._made.get(last)
        if isinstance(ends, Operation) and ends.op.name == "sub":
            return ends.operands[0] is made.count and self._int(ends.operands[1]) == 1
        end, whole = self._int(last), self._int(count)
        return end is not None and whole is not None and end == whole - 1

    def _int(self, value: Value) -> int | None:
        made = self._made.get(value)
        return int(made.value) if isinstance(made, Constant) else None

    def _branch(self, made: Branch) -> None:
        sides = (made.then, made.otherwise)
        given = {v: self._held[v] for v in used(sides) if v.type == STACK and v in self._held}
        for side, place in zip(sides, (0, 1), strict=True):
            for value, (base, items) in given.items():
                if items and isinstance(items[-1], _Sides):
                    self._held[value] = _Held(base, (*items[:-1], *items[-1][place]))
            self._block(side)
            self._held |= given
        for result, a, b in zip(
            made.results, made.then.results, made.otherwise.results, strict=True
        ):
            if result.type == STACK:
                self._held[result] = _joined(self._held[a], self._held[b])


def _joined(a: _Held, b: _Held) -> _Held:
    """The content of a stack after a branch, from its contents after the two sides."""
    if a.base is not b.base:
        raise Unpaired
    same = 0
    for one, other in zip(a.items, b.items, strict=False):
        if one is not other:
            break
        same += 1
    rest = _Sides(a.items[same:], b.items[same:])
    return _Held(a.base, (*a.items[:same], rest) if any(rest) else a.items)
