"""Regions on groups of rows, as LLVM text: the rows of a group run together.

Straight code is a loop over the rows of the group, which LLVM computes for several rows at once.
Values that are needed later have a place for each row. What is the same for all rows, as the number
of an iteration often is, is computed once. A loop of the region runs as long as any row of the
group stays in it. A mask says which rows do; the results of the others are thrown away.

A stack has entries of the whole group. So a row that leaves a loop before others takes part in the
last iterations of the pullback's loop, not in the first, and finds its entries where it left them.
The number of iterations of each row is on the stack, too: a row that steps back leaves `while` and
begins no other loop, whatever its numbers say, and the pullback has to go the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ...ir.instructions import (
    Affine,
    Block,
    Branch,
    Cast,
    Check,
    Constant,
    Copy,
    Each,
    Element,
    For,
    Free,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Push,
    Put,
    Room,
    Value,
    While,
    blocks_of,
    is_straight,
    size_of,
)
from ...ir.types import ArrayType
from ...passes.copying import used
from ..llvm.blocks import Emitter
from ..llvm.frame import BIT, INT, count_up
from ..llvm.work import work_of_group
from .arrays import Finish
from .branches import GroupBranches
from .group_sizes import carries
from .masks import GroupFrame, RowEmitter

# Instructions that are computed once if their operands are the same for all rows.
_SAME = (Operation, Cast, Affine, Check, Element)


class Groups(GroupBranches):
    """Emits the computation of a group of rows."""

    @cached_property
    def uses(self) -> Counter[Value]:
        """How often each value of the region is used."""
        counts: Counter[Value] = Counter()
        _count(self._block, counts)
        return counts

    @cached_property
    def _most(self) -> Any:
        return self.frame.variable(INT(0))

    # ---- rows ------------------------------------------------------------------------------------

    def straight(
        self,
        instructions: Sequence[Instruction],
        mask: Any,
        reads: Sequence[Value] = (),
        finish: Finish | None = None,
    ) -> None:
        """Emits instructions for each row of a mask, and then what `finish` emits for the values
        `reads`."""
        block = Block((), list(instructions), tuple(reads))
        outside = [value for value in used([block]) if value in self.places]
        local: Counter[Value] = Counter()
        _count(block, local)
        kept = [
            value
            for made in instructions
            for value in made.results
            if self.uses[value] > local[value] and not self._is_known(value)
        ]

        def row(index: Any) -> None:
            emitter = RowEmitter(self, index, mask)
            for value in outside:
                emitter.values[value] = self.load(self.places[value], index)
            for made in instructions:
                emitter.instruction(made)
            for value in kept:
                self.store(emitter.values[value], self.place_of(value), index)
            if finish is not None:
                finish(emitter, index)
            emitter.end()

        if instructions or finish is not None:
            self.rows(row, mask)

    def _is_known(self, value: Value) -> bool:
        return value in self.shared or value in self.columns or value in self.stacks

    # ---- blocks ----------------------------------------------------------------------------------

    def run(
        self, block: Block, mask: Any, reads: Sequence[Value], finish: Finish | None = None
    ) -> None:
        """Emits a block for the rows of a mask, and then `finish` for the values `reads`."""
        waiting: list[Instruction] = []
        verified = set(self.verified)
        for made in block.instructions:
            if isinstance(made, Element | Put) and made.place in self.shared:
                self.verify(made)
            if isinstance(made, Constant | Room | Free):
                continue
            if self._is_same_for_all(made):
                self._for_all.instruction(made)
            elif isinstance(made, NewStack):
                self.straight(waiting, mask)
                waiting = []
                self.stacks[made.result] = self.guards.new_stack()
            elif isinstance(made, Push | Pop):
                self.stacks[made.result] = self.stacks[made.stack]
                if any(isinstance(value.type, ArrayType) for value in made.entry):
                    self.straight(waiting, mask)
                    waiting = []
                    self.move(made)
                    self.move_arrays(made, mask)
                else:
                    self.move(made)
                waiting.append(made)
            elif isinstance(made, Put) or is_straight(Block((), [made])):
                waiting.append(made)
            else:
                self.straight(waiting, mask)
                waiting = []
                self.control(made, mask)
        self.straight(waiting, mask, [v for v in reads if v not in self.stacks], finish)
        self.verified = verified

    @cached_property
    def _for_all(self) -> Emitter:
        """Emits instructions once for all rows. Where one would step back, all rows do."""
        emitter = Emitter(GroupFrame(self), self.guards, {}, self.called)
        emitter.values = self.shared
        return emitter

    def _is_same_for_all(self, made: Instruction) -> bool:
        """Whether an instruction computes the same for all rows."""
        return isinstance(made, _SAME) and all(value in self.shared for value in made.operands)

    def control(self, made: Instruction, mask: Any) -> None:
        if isinstance(made, NewArray | Copy | Each):
            self.whole(made, mask)
        elif isinstance(made, Branch):
            self.branch(made, mask)
        elif isinstance(made, While):
            self.while_loop(made, mask)
        else:
            assert isinstance(made, For)
            self.for_loop(made, mask)

    def begin(self, made: While | For, mask: Any) -> None:
        """The first carried values of a loop, and their places."""
        for parameter, value, result in zip(made.carried, made.initial, made.results, strict=True):
            if value in self.stacks:
                self.stacks[parameter] = self.stacks[result] = self.stacks[value]
            elif parameter not in self.columns:
                self.places[result] = self.place_of(parameter)
        given = [
            (parameter, value)
            for parameter, value in zip(made.carried, made.initial, strict=True)
            if value not in self.stacks and value not in self.columns
        ]

        def first(emitter: RowEmitter, row: Any) -> None:
            found = emitter.read([value for _, value in given])
            for (parameter, _), value in zip(given, found, strict=True):
                self.store(value, self.places[parameter], row)

        if given:
            self.straight((), mask, [value for _, value in given], first)

    def iterate(self, made: While | For, mask: Any) -> None:
        """An iteration for the rows of a mask, which then carry its results."""
        given = made.body.results

        def change(emitter: RowEmitter, row: Any) -> None:
            self.change(emitter, made.carried, given)

        self.run(made.body, mask, given, change)
        self.copy_arrays(made.carried, given, mask)

    def while_loop(self, made: While, mask: Any) -> None:
        make = self.builder
        self.begin(made, mask)
        for asked, parameter in zip(made.condition.parameters, made.carried, strict=True):
            if parameter in self.stacks:
                self.stacks[asked] = self.stacks[parameter]
            elif parameter not in self.columns:
                self.places[asked] = self.places[parameter]
        active, taken = map(self.cleared, (self.new_place(BIT), self.new_place(INT)))

        def starts(emitter: RowEmitter, row: Any) -> None:
            self.store(emitter.active, active, row)

        self.straight((), mask, (), starts)
        (condition,) = made.condition.results

        def ask(some: Any) -> None:
            def asks(emitter: RowEmitter, row: Any) -> None:
                stays = make.and_(emitter.active, emitter.read([condition])[0])
                self.take(make.and_(stays, emitter.is_good()), active, taken, row, some)

            self.run(made.condition, active, [condition], asks)

        self.repeat(made, active, ask, _work(made.body) + _work(made.condition))
        if carries(made.body, Push):
            self.push_taken(made, taken)

    def repeat(self, made: While | For, active: Any, ask: Callable[[Any], None], work: int) -> None:
        """Iterations as long as there are `active` rows. `ask` notes in a variable whether there
        are."""
        make, some = self.builder, self.frame.variable(BIT(0))
        head, body, after = (make.append_basic_block() for _ in range(3))
        make.branch(head)
        make.position_at_end(head)
        make.store(BIT(0), some)
        ask(some)
        make.cbranch(make.load(some), body, after)
        make.position_at_end(body)
        self.guards.count(work)
        self.iterate(made, active)
        make.branch(head)
        make.position_at_end(after)

    def take(self, takes_part: Any, active: Any, taken: Any, row: Any, some: Any) -> None:
        """Notes whether a row takes part in the next iteration, and counts that."""
        make = self.builder
        self.note(takes_part, active, row, some)
        self.store(make.add(self.load(taken, row), make.zext(takes_part, INT)), taken, row)

    def for_loop(self, made: For, mask: Any) -> None:
        """A loop of which each row has a number of iterations of its own: the first ones, until it
        steps back; if the loop pops, the last ones."""
        self.begin(made, mask)
        if made.count in self.shared:
            self.same_for_all(made, mask)
            return
        number, active, taken = made.body.parameters[0], self.new_place(BIT), self.new_place(INT)
        if carries(made.body, Pop):
            self.last_ones(made, mask, active, taken)
            return
        counts = self.cleared(self.new_place(INT))
        self.cleared(taken)
        self.straight((), mask, [made.count], self.takes(made.count, counts))
        make = self.builder

        def ask(some: Any) -> None:
            self.cleared(active)

            def asks(emitter: RowEmitter, row: Any) -> None:
                k = self.load(taken, row)
                goes_on = make.icmp_signed("<", k, self.load(counts, row))
                self.store(k, self.place_of(number), row)
                goes_on = make.and_(make.and_(emitter.active, goes_on), emitter.is_good())
                self.take(goes_on, active, taken, row, some)

            self.straight((), mask, (), asks)

        self.repeat(made, active, ask, _work(made.body))
        if carries(made.body, Push):
            self.push_taken(made, taken)

    def last_ones(self, made: For, mask: Any, active: Any, taken: Any) -> None:
        """As many iterations as the row with the most has, of which rows take part in the last
        ones."""
        make, number = self.builder, made.body.parameters[0]
        self.pop_taken(made, taken)
        most = self.largest(taken)

        def iteration(k: Any) -> None:
            self.guards.count(_work(made.body))
            self.cleared(active)

            def takes(emitter: RowEmitter, row: Any) -> None:
                own = make.sub(k, make.sub(most, self.load(taken, row)))
                begun = make.icmp_signed(">=", own, INT(0))
                self.store(make.and_(emitter.active, begun), active, row)
                self.store(own, self.place_of(number), row)

            self.straight((), mask, (), takes)
            self.iterate(made, active)

        count_up(make, most, 1, iteration)
        if carries(made.body, Push):
            self.push_taken(made, taken)

    def same_for_all(self, made: For, mask: Any) -> None:
        """A loop in which all rows take part in each iteration. Like that of other loops, the
        number of iterations is on the stack."""
        count = self.shared[made.count]

        def iteration(k: Any) -> None:
            self.guards.count(_work(made.body))
            self.shared[made.body.parameters[0]] = k
            self.iterate(made, mask)

        def put(emitter: RowEmitter, row: Any) -> None:
            own = self.builder.select(emitter.active, count, INT(0))
            self.store(own, taken, row)

        taken = self.new_place(INT)
        if carries(made.body, Pop):
            self.pop_taken(made, taken)
            count = self.largest(taken)
        count_up(self.builder, count, 1, iteration)
        if carries(made.body, Push):
            self.cleared(taken)
            self.straight((), mask, (), put)
            self.push_taken(made, taken)

    def takes(self, count: Value, taken: Any) -> Finish:
        """Stores the number of a row's iterations at a place: 0 if the row takes no part, or has
        stepped back."""
        make = self.builder

        def put(emitter: RowEmitter, row: Any) -> None:
            runs = make.and_(emitter.active, emitter.is_good())
            own = make.select(runs, emitter.read([count])[0], INT(0))
            self.store(own, taken, row)

        return put

    def largest(self, counts: Any) -> Any:
        """The largest int of the rows, at least 0."""
        make = self.builder
        make.store(INT(0), self._most)

        def compare(row: Any) -> None:
            count, most = self.load(counts, row), make.load(self._most)
            larger = make.icmp_signed(">", count, most)
            make.store(make.select(larger, count, most), self._most)

        self.rows(compare)
        return make.load(self._most)

    def push_taken(self, made: While | For, taken: Any) -> None:
        """Pushes the number of iterations of each row, on each stack that the loop carries."""
        for value in made.initial:
            if value in self.stacks:
                self.push_counts(self.stacks[value], taken)

    def pop_taken(self, made: For, taken: Any) -> None:
        for value in made.initial:
            if value in self.stacks:
                self.pop_counts(self.stacks[value], taken)


def _count(block: Block, counts: Counter[Value]) -> None:
    """Counts the uses of values."""
    counts.update(block.results)
    for made in block.instructions:
        counts.update(made.operands)
        for inner in blocks_of(made):
            _count(inner, counts)


def _work(block: Block) -> int:
    return 1 + work_of_group(size_of(block))
