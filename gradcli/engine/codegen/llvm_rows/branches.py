"""Branches of a group's rows as LLVM text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.instructions import Block, Branch, Pop, Value
from ...ir.types import ArrayType, StackType
from ..llvm.frame import BIT
from .arrays import Finish, GroupArrays
from .group_sizes import has_either_side
from .masks import RowEmitter


class GroupBranches(GroupArrays):
    """Emits branches, whose sides are for some of a group's rows."""

    def run(
        self, block: Block, mask: Any, reads: Sequence[Value], finish: Finish | None = None
    ) -> None:
        raise NotImplementedError

    def branch(self, made: Branch, mask: Any) -> None:
        """A branch with loops inside, or changes of arrays: each side runs if any row takes it. A
        branch that pops runs its sides in the opposite order, since entries come back last to
        first."""
        for result in made.results:
            if not isinstance(result.type, StackType | ArrayType):
                self.place_of(result)
        sides = [(made.then, True), (made.otherwise, False)]
        for block, holds in reversed(sides) if has_either_side(made, Pop) else sides:
            taken, some = self.new_place(BIT), self.frame.variable(BIT(0))

            def takes(
                emitter: RowEmitter,
                row: Any,
                taken: Any = taken,
                some: Any = some,
                holds: bool = holds,
            ) -> None:
                condition = emitter.values[made.condition]
                condition = condition if holds else self.builder.not_(condition)
                self.note(self.builder.and_(emitter.active, condition), taken, row, some)

            self.builder.store(BIT(0), some)
            self.cleared(taken)
            self.straight((), mask, [made.condition], takes)

            def give(emitter: RowEmitter, row: Any, block: Block = block) -> None:
                self.change(emitter, made.results, block.results)

            with self.builder.if_then(self.builder.load(some)):
                self.run(block, taken, block.results, give)
                self.copy_arrays(made.results, block.results, taken)
        for result, value in zip(made.results, made.then.results, strict=True):
            if value in self.stacks:
                self.stacks[result] = self.stacks[value]

    def change(
        self, emitter: RowEmitter, targets: Sequence[Value], values: Sequence[Value]
    ) -> None:
        """Assigns values to others, in the rows of the mask."""
        found = [
            (t, emitter.read([v])[0])
            for t, v in zip(targets, values, strict=True)
            if t in self.places
        ]
        for target, value in found:
            emitter.keep(value, self.places[target])

    def note(self, holds: Any, mask: Any, row: Any, some: Any) -> None:
        """Puts a bool into a mask, and notes in the variable `some` whether any is true."""
        self.store(holds, mask, row)
        self.builder.store(self.builder.or_(self.builder.load(some), holds), some)
