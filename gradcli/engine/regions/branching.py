"""Branches: what is held where two paths meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ...lang.program.liveness import Liveness
from ..ir.builder import Builder
from ..ir.instructions import Block, Check, Value
from .flow import assigned
from .kinds import Maybe, as_kind, flat, joined, kind_of, rebuilt
from .names import ABSENT, Name, Names, NotCompiled, Unknown, Unresolved

MAX_SIZE = 5_000  # of a region: what it makes of a statement or an element counts each time
DIFFER = "what the paths hold that meet here is of different kinds"


class Branching:
    """The state of lowering: where instructions are added, and what names hold."""

    def __init__(self, builder: Builder, liveness: Liveness) -> None:
        self.builder, self.names = builder, Names()
        self.frame = self.names.new_frame()
        self.liveness = liveness  # of the names of the frame
        self.size = 0

    def count(self, span: Span | None, size: int = 1) -> None:
        """Counts a statement, an iteration, or an operation on so many elements."""
        self.size += size
        if self.size > MAX_SIZE:
            raise NotCompiled("this makes the region too large", span)

    def read(self, slot: program.Slot, span: Span, frame: int | None = None) -> Any:
        """What a name holds, in this frame or another."""
        name = Name(self.frame if frame is None else frame, slot.index)
        held = self.names.held.get(name, ABSENT)
        if held is ABSENT:
            raise NotCompiled(f"`{slot.name}` has no value here", span)
        found = self.names.held[name] = self.surely(held)
        return self.known(found)

    def known(self, held: Any) -> Any:
        """What is held, if it is known."""
        if isinstance(held, Unknown):
            raise NotCompiled(held.reason, held.span)
        return held

    def surely(self, held: Any) -> Any:
        """What is held, after a check that there is something."""
        if not isinstance(held, Maybe):
            return held
        self.builder.add(Check(held.there))
        return held.held

    def surviving(self, node: Any, alive: frozenset[int]) -> list[Name]:
        """The names that a statement assigns and that are read later."""
        slots = {s.index: None for s in assigned([node]) if s.cell or s.index in alive}
        return [Name(self.frame, slot) for slot in slots]

    def forget_others(self, node: Any, kept: Sequence[Name]) -> None:
        """Forgets the names that a statement assigns and that nothing reads later."""
        for slot in assigned([node]):
            if (name := Name(self.frame, slot.index)) not in kept:
                self.names.held.pop(name, None)

    def either(
        self,
        condition: Value,
        then: Callable[[], Any],
        otherwise: Callable[[], Any],
        span: Span,
        merged: Sequence[Name] = (),
    ) -> Any:
        """A branch: what the side that is taken gives, and what it leaves in the `merged` names."""
        if condition in self.builder.known:
            return (then if self.builder.known[condition] else otherwise)()
        before, sides = dict(self.names.held), []
        for side in (then, otherwise):
            self.names.held = dict(before)
            with suppress(Unresolved), self.builder.inside(Block()) as block:
                given = side()
                sides.append((block, (given, *self.names.of(merged))))
        self.names.held = before
        if not sides:
            raise Unresolved
        given, *held = (
            self.meet(condition, sides, Unknown(DIFFER, span)) if len(sides) > 1 else sides[0][1]
        )
        self.names.put(merged, held)
        return self.known(given)

    def both(self, first: Value, second: Callable[[], Value], span: Span) -> Value:
        """Whether both conditions hold; the second is asked only where the first does."""
        no = self.builder.constant
        found: Value = self.either(first, second, lambda: no(False), span)
        return found

    def meet(self, condition: Value, sides: list[tuple[Block, Any]], differ: Unknown) -> Any:
        """Ends the two blocks of a branch with what each holds, and gives what is held after it.
        Scalars that both sides have from before aren't results of it."""
        (first, a), (second, b) = sides
        kind = joined(kind_of(a), kind_of(b), differ)
        found = []
        for block, held in sides:
            with self.builder.inside(block):
                found.append(list(flat(as_kind(self.builder, held, kind))))
        pairs = list(zip(*found, strict=True))
        first.results = tuple([x for x, y in pairs if x is not y])
        second.results = tuple([y for x, y in pairs if x is not y])
        results = iter(self.builder.branch(condition, first, second))
        return rebuilt(kind, iter([x if x is y else next(results) for x, y in pairs]))
