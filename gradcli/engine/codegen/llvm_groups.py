"""Regions with loops on groups of rows, as LLVM text: the rows of a group go through them together.

What is straight is a loop over the rows of the group, which LLVM computes for several rows at once.
Values that are needed later have a place for each row. A loop of the region runs as long as any row
of the group stays in it, and a mask says which do: what the others compute is not kept. A stack has
entries of the whole group. So a row that leaves a loop before others takes part in the last
iterations of the pullback's loop, not in the first, and finds its entries where it left them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from ..ir.instructions import (
    Block,
    Branch,
    Cast,
    Check,
    Constant,
    Element,
    For,
    Instruction,
    NewStack,
    Operation,
    Pop,
    Push,
    Region,
    Value,
    While,
    blocks_of,
    size_of,
)
from ..ir.types import ArrayType, StackType
from ..passes.copying import used
from .llvm_blocks import Emitter, llvm_type
from .llvm_frame import BIT, BYTE, INT, Frame
from .llvm_guards import Guards, Stack

GROUP = 32  # rows
MOST_PLACES = 2**18  # bytes of a group's values
_STRAIGHT = (Constant, Cast, Operation, Check, Element)
_BYTES = 8  # of a number

Finish = Callable[["RowEmitter", Any], None]


def fits_groups(region: Region, by_row: Sequence[bool]) -> bool:
    """Whether a region can run on groups: it has loops, and neither arrays of its own nor calls,
    and nothing that reads the entries of one stack and adds to another. Which elements it reads of
    the arrays that rows have, `by_row`, is known."""
    varying = {p for p, varies in zip(region.block.parameters, by_row, strict=True) if varies}
    constants = {made.result for made in _all(region.block) if isinstance(made, Constant)}
    return (
        _has_loops(region.block)
        and _fits(region.block)
        and all(
            made.place in constants
            for made in _all(region.block)
            if isinstance(made, Element) and made.array in varying
        )
        and not any(isinstance(value.type, ArrayType) for value in region.block.results)
        and size_of(region.block) * GROUP * _BYTES < MOST_PLACES
    )


def _all(block: Block) -> Iterator[Instruction]:
    for made in block.instructions:
        yield made
        for inner in blocks_of(made):
            yield from _all(inner)


def _has_loops(block: Block) -> bool:
    return any(isinstance(made, While | For) for made in _all(block))


def _fits(block: Block) -> bool:
    for made in block.instructions:
        if not isinstance(made, (*_STRAIGHT, Branch, While, For, NewStack, Push, Pop)):
            return False
        if isinstance(made, For) and all(_outer(made.body, kind) for kind in (Push, Pop)):
            return False
        if isinstance(made, Branch) and all(_holds(made, kind) for kind in (Push, Pop)):
            return False
        if not all(map(_fits, blocks_of(made))):
            return False
    return True


def _outer(body: Block, kind: type) -> bool:
    """Whether a loop's body pushes to, or pops from, stacks that it carries."""
    return any(isinstance(value.type, StackType) for value in body.parameters) and any(
        isinstance(made, kind) for made in _all(body)
    )


def _holds(made: Branch, kind: type) -> bool:
    """Whether there is an instruction of a kind on either side."""
    return any(isinstance(inner, kind) for block in blocks_of(made) for inner in _all(block))


def _is_straight(made: Instruction) -> bool:
    return isinstance(made, _STRAIGHT) or (
        isinstance(made, Branch)
        and all(all(map(_is_straight, block.instructions)) for block in blocks_of(made))
    )


class Groups:
    """Emits what computes a group of rows.

    status  the address of the byte of the group's first row, which is set where the region steps
            back
    """

    status: Any

    def __init__(self, frame: Frame, guards: Guards, region: Region, called: list[str]) -> None:
        self.frame, self.guards, self.region, self.called = frame, guards, region, called
        self.builder = frame.builder
        self.places: dict[Value, Any] = {}  # the addresses of values, one after the other
        self.shared: dict[Value, Any] = {}  # values that are the same for all rows
        self.columns: dict[Value, Callable[[int], Any]] = {}  # addresses of elements of arrays
        self.stacks: dict[Value, Stack] = {}
        self.constants: dict[Value, Any] = {}
        self.uses: Counter[Value] = Counter()
        self._offsets: dict[int, Any] = {}  # of entries on stacks, by the identity of what is done
        self._read(region.block)
        module = frame.builder.module  # what LLVM is told: stacks and places are apart in memory
        scope = module.add_metadata(["stacks", module.add_metadata(["memory"])])
        self._on_stacks = module.add_metadata([scope])
        self._bad = frame.variable(ir.Constant(BIT, 0))
        self._any = frame.variable(ir.Constant(BIT, 0))
        self._most = frame.variable(ir.Constant(INT, 0))

    def _read(self, block: Block) -> None:
        self.uses.update(block.results)
        for made in block.instructions:
            if isinstance(made, Constant):
                self.constants[made.result] = made.value
                self.shared[made.result] = ir.Constant(llvm_type(made.result.type), made.value)
            self.uses.update(made.operands)
            for inner in blocks_of(made):
                self._read(inner)

    # ---- places ----------------------------------------------------------------------------------

    def new_place(self, kind: Any) -> Any:
        """Room for a value of each row."""
        with self.builder.goto_entry_block():
            whole = ir.ArrayType(BYTE if kind == BIT else kind, GROUP)
            place = self.builder.alloca(whole)
            self.builder.store(ir.Constant(whole, None), place)
            return self.builder.bitcast(place, whole.element.as_pointer())

    def place_of(self, value: Value) -> Any:
        if value not in self.places:
            self.places[value] = self.new_place(llvm_type(value.type))
        return self.places[value]

    def load(self, place: Any, row: Any, kind: Any) -> Any:
        """The value of a row at a place."""
        value = self.builder.load(self.builder.gep(place, [row], inbounds=True))
        value.set_metadata("noalias", self._on_stacks)
        return self.builder.trunc(value, BIT) if kind == BIT else value

    def store(self, value: Any, place: Any, row: Any) -> None:
        value = self.builder.zext(value, BYTE) if value.type == BIT else value
        made = self.builder.store(value, self.builder.gep(place, [row], inbounds=True))
        made.set_metadata("noalias", self._on_stacks)

    def load_entry(self, place: Any, kind: Any) -> Any:
        """A number of an entry of a stack."""
        value = self.builder.load(place, align=1)
        value.set_metadata("alias.scope", self._on_stacks)
        return self.builder.trunc(value, BIT) if kind == BIT else value

    def store_entry(self, value: Any, place: Any) -> None:
        value = self.builder.zext(value, BYTE) if value.type == BIT else value
        made = self.builder.store(value, place, align=1)
        made.set_metadata("alias.scope", self._on_stacks)

    # ---- rows ------------------------------------------------------------------------------------

    def rows(self, emit: Callable[[Any], None]) -> None:
        """Emits a loop over the rows of the group."""
        make = self.builder
        before, body, after = (
            make.block,
            make.append_basic_block(),
            make.append_basic_block(),
        )
        make.branch(body)
        make.position_at_end(body)
        row = make.phi(INT)
        row.add_incoming(ir.Constant(INT, 0), before)
        emit(row)
        following = make.add(row, ir.Constant(INT, 1))
        row.add_incoming(following, make.block)
        more = make.icmp_signed("<", following, ir.Constant(INT, GROUP))
        make.cbranch(more, body, after)
        make.position_at_end(after)

    def straight(
        self,
        instructions: Sequence[Instruction],
        mask: Any,
        reads: Sequence[Value] = (),
        finish: Finish | None = None,
    ) -> None:
        """Emits instructions for each row where a mask holds, and then what `finish` does with the
        values that it reads."""
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
                kind = llvm_type(value.type)
                emitter.values[value] = self.load(self.places[value], index, kind)
            for made in instructions:
                emitter.instruction(made)
            for value in kept:
                self.store(emitter.values[value], self.place_of(value), index)
            if finish is not None:
                finish(emitter, index)
            emitter.end()

        if instructions or finish is not None:
            self.rows(row)

    def _is_known(self, value: Value) -> bool:
        return value in self.shared or value in self.columns or value in self.stacks

    # ---- blocks ----------------------------------------------------------------------------------

    def run(
        self, block: Block, mask: Any, reads: Sequence[Value], finish: Finish | None = None
    ) -> None:
        """Emits a block for the rows of a mask, and what is done with the values at its end."""
        waiting: list[Instruction] = []
        for made in block.instructions:
            if isinstance(made, Constant):
                continue
            if isinstance(made, NewStack):
                self.straight(waiting, mask)
                waiting = []
                self.stacks[made.result] = self.guards.new_stack()
            elif isinstance(made, Push | Pop):
                self.stacks[made.result] = self.stacks[made.stack]
                self._offsets[id(made)] = self._moved(made)
                waiting.append(made)
            elif _is_straight(made):
                waiting.append(made)
            else:
                self.straight(waiting, mask)
                waiting = []
                self.control(made, mask)
        self.straight(waiting, mask, [v for v in reads if v not in self.stacks], finish)

    def control(self, made: Instruction, mask: Any) -> None:
        if isinstance(made, Branch):
            self.branch(made, mask)
        elif isinstance(made, While):
            self.while_loop(made, mask)
        else:
            assert isinstance(made, For)
            self.for_loop(made, mask)

    def branch(self, made: Branch, mask: Any) -> None:
        """A branch with loops inside: each side runs if any row takes it. Where it pops, the sides
        come in the other order than where their entries were pushed."""
        for result in made.results:
            if not isinstance(result.type, StackType):
                self.place_of(result)
        sides = [(made.then, True), (made.otherwise, False)]
        for block, holds in reversed(sides) if _holds(made, Pop) else sides:
            taken = self.new_place(BIT)

            def takes(
                emitter: RowEmitter, row: Any, taken: Any = taken, holds: bool = holds
            ) -> None:
                condition = emitter.values[made.condition]
                condition = condition if holds else self.builder.not_(condition)
                self.note(self.builder.and_(emitter.active, condition), taken, row)

            self.builder.store(ir.Constant(BIT, 0), self._any)
            self.straight((), mask, [made.condition], takes)

            def give(emitter: RowEmitter, row: Any, block: Block = block) -> None:
                self.change(emitter, row, made.results, block.results)

            with self.builder.if_then(self.builder.load(self._any)):
                self.run(block, taken, block.results, give)
        for result, value in zip(made.results, made.then.results, strict=True):
            if value in self.stacks:
                self.stacks[result] = self.stacks[value]

    def change(
        self, emitter: RowEmitter, row: Any, targets: Sequence[Value], values: Sequence[Value]
    ) -> None:
        """Gives values to others, in the rows of the mask."""
        found = [
            (t, emitter.read([v])[0])
            for t, v in zip(targets, values, strict=True)
            if t in self.places
        ]
        for target, value in found:
            old = self.load(self.places[target], row, value.type)
            self.store(self.builder.select(emitter.active, value, old), self.places[target], row)

    def note(self, holds: Any, mask: Any, row: Any) -> None:
        """Puts a bool into a mask, and notes whether any is true."""
        self.store(holds, mask, row)
        self.builder.store(self.builder.or_(self.builder.load(self._any), holds), self._any)

    def begin(self, made: While | For, mask: Any) -> None:
        """The first values that a loop carries, and their places."""
        for parameter, value, result in zip(made.carried, made.initial, made.results, strict=True):
            if value in self.stacks:
                self.stacks[parameter] = self.stacks[result] = self.stacks[value]
            else:
                self.places[result] = self.place_of(parameter)
        given = [
            (p, v) for p, v in zip(made.carried, made.initial, strict=True) if v not in self.stacks
        ]

        def first(emitter: RowEmitter, row: Any) -> None:
            found = emitter.read([value for _, value in given])
            for (parameter, _), value in zip(given, found, strict=True):
                self.store(value, self.places[parameter], row)

        if given:
            self.straight((), mask, [value for _, value in given], first)

    def while_loop(self, made: While, mask: Any) -> None:
        make = self.builder
        self.begin(made, mask)
        for asked, parameter in zip(made.condition.parameters, made.carried, strict=True):
            if parameter in self.stacks:
                self.stacks[asked] = self.stacks[parameter]
            else:
                self.places[asked] = self.places[parameter]
        active = self.new_place(BIT)
        self.straight((), mask, (), lambda emitter, row: self.store(emitter.active, active, row))
        head, body, after = (make.append_basic_block() for _ in range(3))
        make.branch(head)
        make.position_at_end(head)
        make.store(ir.Constant(BIT, 0), self._any)
        (condition,) = made.condition.results

        def asks(emitter: RowEmitter, row: Any) -> None:
            stays = make.and_(emitter.active, emitter.read([condition])[0])
            self.note(make.and_(stays, emitter.is_good()), active, row)

        self.run(made.condition, active, [condition], asks)
        make.cbranch(make.load(self._any), body, after)
        make.position_at_end(body)
        self.guards.count(_work(made.body) + _work(made.condition))
        self.run(
            made.body,
            active,
            made.body.results,
            lambda emitter, row: self.change(emitter, row, made.carried, made.body.results),
        )
        make.branch(head)
        make.position_at_end(after)

    def for_loop(self, made: For, mask: Any) -> None:
        """A loop with as many iterations as any row has. Where it pops, rows take part in the last
        ones, else in the first."""
        make, at_end = self.builder, _outer(made.body, Pop)
        self.begin(made, mask)
        make.store(ir.Constant(INT, 0), self._most)

        def largest(emitter: RowEmitter, row: Any) -> None:
            count = make.select(emitter.active, emitter.read([made.count])[0], ir.Constant(INT, 0))
            most = make.load(self._most)
            larger = make.icmp_signed(">", count, most)
            make.store(make.select(larger, count, most), self._most)

        self.straight((), mask, [made.count], largest)
        most, number, active = make.load(self._most), made.body.parameters[0], self.new_place(BIT)
        before, (head, body, after) = make.block, [make.append_basic_block() for _ in range(3)]
        make.branch(head)
        make.position_at_end(head)
        k = make.phi(INT)
        k.add_incoming(ir.Constant(INT, 0), before)
        make.cbranch(make.icmp_signed("<", k, most), body, after)
        make.position_at_end(body)
        self.guards.count(_work(made.body))

        def takes(emitter: RowEmitter, row: Any) -> None:
            count = emitter.read([made.count])[0]
            own = make.sub(k, make.sub(most, count)) if at_end else k
            first = make.icmp_signed(">=", own, ir.Constant(INT, 0))
            inside = make.and_(first, make.icmp_signed("<", own, count))
            self.store(make.and_(emitter.active, inside), active, row)
            self.store(own, self.place_of(number), row)

        self.straight((), mask, [made.count], takes)
        self.run(
            made.body,
            active,
            made.body.results,
            lambda emitter, row: self.change(emitter, row, made.carried, made.body.results),
        )
        k.add_incoming(make.add(k, ir.Constant(INT, 1)), make.block)
        make.branch(head)
        make.position_at_end(after)

    # ---- stacks ----------------------------------------------------------------------------------

    def _moved(self, made: Push | Pop) -> Any:
        """Makes room on a stack for an entry of each row, or takes it back; gives its offset."""
        make, stack = self.builder, self.stacks[made.stack]
        total = ir.Constant(INT, GROUP * sum(map(_size, made.entry)))
        if isinstance(made, Push):
            return self.guards.room(stack, total)
        start = make.sub(make.load(stack.used), total)
        self.frame.leave_if(make.icmp_signed("<", start, ir.Constant(INT, 0)), self.frame.step_back)
        make.store(start, stack.used)
        return start

    def entry_places(self, made: Push | Pop, row: Any) -> Iterator[tuple[Any, Any]]:
        """The addresses of the numbers of a row's entry, and their types."""
        make, before = self.builder, 0
        start = make.gep(make.load(self.stacks[made.stack].base), [self._offsets[id(made)]])
        for value in made.entry:
            size, kind = _size(value), llvm_type(value.type)
            offset = make.add(
                ir.Constant(INT, before * GROUP), make.mul(row, ir.Constant(INT, size))
            )
            place = make.gep(start, [offset], inbounds=True)
            yield make.bitcast(place, (BYTE if kind == BIT else kind).as_pointer()), kind
            before += size


class _RowFrame(Frame):
    """The frame where a row is computed: where the region would step back, that is noted."""

    def __init__(self, groups: Groups, active: Any, bad: Any) -> None:
        frame = groups.frame
        self.builder, self.held, self.bottom = frame.builder, frame.held, frame.bottom
        self.arrays, self.raised, self.step_back = frame.arrays, frame.raised, frame.step_back
        self.is_masked = True
        self.active, self.bad = active, bad
        self.notes = False

    def step_back_if(self, condition: Any) -> None:
        self.notes = True
        steps = self.builder.and_(condition, self.active)
        self.builder.store(self.builder.or_(self.builder.load(self.bad), steps), self.bad)


class RowEmitter(Emitter):
    """Emits instructions for a row of a group. `active` says whether the row takes part."""

    frame: _RowFrame

    def __init__(self, groups: Groups, row: Any, mask: Any) -> None:
        self.groups, self.row = groups, row
        active = ir.Constant(BIT, 1) if mask is None else groups.load(mask, row, BIT)
        groups.builder.store(ir.Constant(BIT, 0), groups._bad)
        frame = _RowFrame(groups, active, groups._bad)
        super().__init__(frame, groups.guards, {}, groups.called, vectors=True)
        self.active = active
        self.values = dict(groups.shared)

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Push):
            for value, (place, _) in zip(
                self.read(made.entry), self.groups.entry_places(made, self.row), strict=True
            ):
                self.groups.store_entry(value, place)
        elif isinstance(made, Pop):
            for value, (place, kind) in zip(
                made.entry, self.groups.entry_places(made, self.row), strict=True
            ):
                self.values[value] = self.groups.load_entry(place, kind)
        else:
            super().instruction(made)

    def array(self, made: Any) -> None:
        """An element of a row's array; or of one that rows share, of which those that don't take
        part read the first."""
        if made.array in self.groups.columns:
            place = self.groups.columns[made.array](self.groups.constants[made.place])
            kind = llvm_type(made.result.type)
            self.values[made.result] = self.groups.load(place, self.row, kind)
            return
        array, place = self.read(made.operands)
        reads = self.builder.and_(self.active, self.builder.not_(self.builder.load(self.frame.bad)))
        place = self.builder.select(reads, place, ir.Constant(INT, 0))
        self.values[made.result] = self.arrays.element(array, place)

    def is_good(self) -> Any:
        """Whether the row hasn't stepped back."""
        make = self.builder
        return make.not_(make.or_(self._has_stepped_back(), make.load(self.frame.bad)))

    def end(self) -> None:
        """Notes a row that has stepped back."""
        if self.frame.notes:
            before, now = self._has_stepped_back(), self.builder.load(self.frame.bad)
            self.groups.store(self.builder.or_(before, now), self.groups.status, self.row)

    def _has_stepped_back(self) -> Any:
        return self.groups.load(self.groups.status, self.row, BIT)


def _count(block: Block, counts: Counter[Value]) -> None:
    """Counts the uses of values."""
    counts.update(block.results)
    for made in block.instructions:
        counts.update(made.operands)
        for inner in blocks_of(made):
            _count(inner, counts)


def _size(value: Value) -> int:
    return 1 if llvm_type(value.type) == BIT else _BYTES


def _work(block: Block) -> int:
    return 1 + GROUP * size_of(block) // 4
