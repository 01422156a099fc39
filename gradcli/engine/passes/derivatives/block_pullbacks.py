"""The pullback of a block: from the cotangents of its results to those of the values that it uses.

The pullback walks the instructions backwards and adds cotangents up in the same order as a sweep
over records. A loop pushes what the pullback needs of each iteration on the one stack that there
is; a branch gives it as further results. A bool beside each cotangent says whether a path connects
an input with a result; it is left out where every path does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ...ir.instructions import (
    Affine,
    Block,
    Branch,
    Call,
    Cast,
    Constant,
    Each,
    Element,
    For,
    Instruction,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Structural,
    Value,
    While,
    blocks_of,
    constants_in,
    every,
)
from ...ir.types import BOOL, I64, STACK, has_tangents, is_float
from ..calls import Regions
from ..copying import copied, defined, replace, used
from .pullbacks import Pullbacks
from .tangents import Derivative, Derivatives, pairs, values_of

_FLOATS = ("add", "sub", "mul", "neg")
# By which places in arrays, and conditions on them, are computed.
_INTS = (
    "add", "sub", "mul", "where", "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne",
)  # fmt: skip
# Quick where the divisor is known.
_DIVISIONS = ("mod", "floordiv")


class Recomputable(NamedTuple):
    """What decides whether the pullback of a region computes a value again.

    inputs     the arrays whose elements it reads again
    constants  those of the region
    read       the values that depend on elements of arrays
    """

    inputs: set[Value]
    constants: Mapping[Value, Any]
    read: set[Value]

    def is_simple(self, made: Instruction) -> bool:
        """Whether to compute an instruction again is cheaper than a stack. A condition on elements
        stays as it was, also for a row that has stepped back since, whose elements aren't read any
        more: the stack would be out of step if it took the other side of a branch."""
        if isinstance(made, Operation):
            last = made.operands[-1]
            if is_float(made.result.type):
                return made.op.name in _FLOATS
            by = (*_INTS, *_DIVISIONS) if last in self.constants else _INTS
            decides = made.result.type == BOOL and not self.read.isdisjoint(made.operands)
            return last.type == I64 and made.op.name in by and not decides
        if isinstance(made, Element):
            return made.array in self.inputs
        return isinstance(made, Cast | Constant | Affine)


def recomputable_in(block: Block) -> Recomputable:
    """The same for a region, of which it may read the parameters again."""
    read: set[Value] = set()
    for made in every(block):
        if isinstance(made, Element) or not (blocks_of(made) or read.isdisjoint(made.operands)):
            read.update(made.results)
    return Recomputable(set(block.parameters), constants_in(block), read)


def computed_again(
    body: Block, given: set[Value], needed: Iterable[Value], recomputable: Recomputable
) -> dict[Value, Instruction]:
    """The instructions by which the pullback of an iteration, or of a side of a branch, computes
    the `needed` values again, where that is cheaper than a stack. They use the values `given` to
    the pullback, those from outside, and elements of arrays."""
    inside = set(defined(body)) - given
    cheap: dict[Value, Instruction] = {}
    for made in body.instructions:
        is_there = all(v not in inside or v in cheap for v in made.operands)
        if is_there and recomputable.is_simple(made):
            cheap[made.results[0]] = made
    wanted = {value for value in needed if value in cheap}
    for value in reversed(cheap):
        if value in wanted:
            wanted.update(v for v in cheap[value].operands if v in cheap)
    return {value: made for value, made in cheap.items() if value in wanted}


class BlockPullback(Pullbacks):
    """Appends the pullback of a block to the block. The block itself changes: its loops, and the
    regions that it calls, push what the pullback needs; its loops also count their iterations; its
    branches get more results.

    recomputable  what decides which values the pullback computes again
    stack         the current value of the stack, if there is one
    """

    def __init__(
        self, block: Block, varied: set[Value], regions: Regions, stack: Value | None = None
    ) -> None:
        """`stack` is the stack that the block begins with, if any."""
        super().__init__(block, varied, regions)
        self.recomputable = recomputable_in(block)
        if stack is None and any(map(self.keeps, block.instructions)):
            made = NewStack(stack := Value(STACK))
            block.instructions.insert(0, made)
        self.stack = None if stack is None else self.thread(block, stack)

    def keeps(self, made: Instruction) -> bool:
        """Whether an instruction takes the stack, to push what the pullback needs."""
        if isinstance(made, Call):
            return self.is_active(made) and not self.regions.keeps_nothing(made.region)
        return isinstance(made, While | For) or any(
            self.keeps(inner) for block in blocks_of(made) for inner in block.instructions
        )

    def is_active(self, made: Call) -> bool:
        """Whether cotangents go through a call."""
        return not (self.varied.isdisjoint(made.operands) or self.varied.isdisjoint(made.results))

    # ---- the forward part ------------------------------------------------------------------------

    def thread(self, block: Block, stack: Value) -> Value:
        """Passes the stack through the loops and calls of a block; returns the stack at its end."""
        for made in list(filter(self.keeps, block.instructions)):
            after = Value(STACK)
            if isinstance(made, Call):
                made.operands += (stack,)
                made.results += (after,)
            elif isinstance(made, Branch):
                for side in (made.then, made.otherwise):
                    side.results += (self.thread(side, stack),)
                made.results += (after,)
            elif isinstance(made, While):
                self.counted(made, block)
                made.initial += (stack,)
                made.condition.parameters += (Value(STACK),)
                self.through(made.body)
                made.results += (after,)
            elif isinstance(made, For):
                made.initial += (stack,)
                self.through(made.body)
                made.results += (after,)
            stack = after
        return stack

    def through(self, body: Block) -> None:
        inside = Value(STACK)
        body.results += (self.thread(body, inside),)
        body.parameters += (inside,)

    def counted(self, made: While, block: Block) -> None:
        """Makes a loop count its iterations: the number is its last result before the stack."""
        start = Value(I64)
        block.instructions.insert(0, Constant(0, start))
        made.initial += (start,)
        made.condition.parameters += (Value(I64),)
        count = Value(I64)
        with self.builder.inside(made.body):
            counted = self.builder.apply("add", [count, self.builder.constant(1)])
        made.body.parameters += (count,)
        made.body.results += (counted,)
        made.results += (Value(I64),)

    # ---- backwards -------------------------------------------------------------------------------

    def back(self, block: Block, cotangents: Derivatives) -> None:
        """The pullback of a block's instructions: turns cotangents of the values that it defines
        into those of the values that it uses."""
        for made in reversed(list(block.instructions)):
            if isinstance(made, Branch):
                self.branch(made, cotangents)
            elif isinstance(made, While | For):
                self.loop(made, cotangents)
            elif isinstance(made, Operation | Cast):
                g = cotangents.pop(made.result, None)
                if g is not None:
                    self.operation(made, g, cotangents)
            elif isinstance(made, Element):
                self.element(made, cotangents)
            elif isinstance(made, Put):
                self.put(made, cotangents)
            elif isinstance(made, NewArray):
                self.filled(made, cotangents)
            elif isinstance(made, Product):
                self.product(made, cotangents)
            elif isinstance(made, Structural):
                self.structural(made, cotangents)
            elif isinstance(made, Each):
                self.each(made, cotangents)
            elif isinstance(made, Pop):
                self.pop(made, cotangents)
            elif isinstance(made, Push):
                self.push(made, cotangents)
            elif isinstance(made, Call):
                self.call(made, cotangents)

    def call(self, made: Call, cotangents: Derivatives) -> None:
        raise NotImplementedError

    def pop(self, made: Pop, cotangents: Derivatives) -> None:
        """The cotangent of a stack is a stack with the cotangents of its floats."""
        if made.stack not in self.varied:
            return
        stack, _ = self.of_types([(STACK, cotangents.pop(made.result, None))])
        floats = [value for value in made.entry if has_tangents(value.type)]
        entry = self.results(floats, [cotangents.pop(value, None) for value in floats])
        after = Value(STACK)
        self.builder.add(Push(stack, entry, after))
        cotangents[made.stack] = Derivative(after)

    def push(self, made: Push, cotangents: Derivatives) -> None:
        g = cotangents.pop(made.result, None)
        if g is not None:
            floats = [value for value in made.entry if has_tangents(value.type)]
            entry, after = values_of(floats), Value(STACK)
            self.builder.add(Pop(g.value, entry, after))
            for value, share in zip(floats, pairs(entry), strict=True):
                self.add(cotangents, value, share)
            self.add(cotangents, made.stack, Derivative(after))

    def outer(self, blocks: Iterable[Block]) -> list[Value]:
        """The values from outside to whose cotangents the pullbacks of blocks add."""
        return [value for value in used(blocks) if value in self.varied]

    def branch(self, made: Branch, cotangents: Derivatives) -> None:
        given = {k: cotangents.pop(v) for k, v in enumerate(made.results) if v in cotangents}
        if not given and not self.keeps(made):
            return
        sides, before = (made.then, made.otherwise), self.stack
        touched = self.outer(sides)
        blocks, ends = [], []
        for side in sides:
            self.stack, inside = before, dict(cotangents)
            with self.builder.inside(Block()) as block:
                for k, g in given.items():
                    self.add(inside, side.results[k], g)
                self.back(side, inside)
                end = [inside.get(value) for value in touched]
                block.results = (*self.results(touched, end), *self.stacks(made))
            blocks.append(block)
            ends.append(end)
        for side, block in zip(sides, blocks, strict=True):
            self.expose(made, side, block)
        results = self.builder.branch(made.condition, *blocks)
        if self.stacks(made):
            self.stack = results[-1]
        for k, (value, a, b) in enumerate(zip(touched, *ends, strict=True)):
            if a or b:
                certain = a and b and a.connected is b.connected is None
                flag = None if certain or value.type == STACK else results[2 * k + 1]
                cotangents[value] = Derivative(results[2 * k], flag)

    def stacks(self, made: Instruction) -> tuple[Value, ...]:
        """The stack, if an instruction changes it."""
        return (self.stack,) if self.stack is not None and self.keeps(made) else ()

    def expose(self, made: Branch, side: Block, block: Block) -> None:
        """Gives the pullback of a side the values that it needs of the side. It computes simple
        ones again; others become results of the branch."""
        names: dict[Value, Value] = {}
        inside = set(defined(side))
        other = made.otherwise if side is made.then else made.then
        needed = [value for value in used([block]) if value in inside]
        again = computed_again(side, set(), needed, self.recomputable)
        for value in [value for value in needed if value not in again]:
            names[value] = Value(value.type)
            made.results += (names[value],)
            side.results += (value,)
            with self.builder.inside(other):
                other.results += (self.builder.zero(value.type),)
        first = copied(Block((), list(again.values())), names).instructions
        replace(block, names)
        block.instructions = [*first, *block.instructions]

    def loop(self, made: While | For, cotangents: Derivatives) -> None:
        assert self.stack is not None
        n = len(made.initial) - (2 if isinstance(made, While) else 1)  # without count and stack
        parameters = made.carried
        carried = [k for k in range(n) if parameters[k] in self.varied]
        touched = self.outer([made.body])
        values = [*[parameters[k] for k in carried], *touched]
        start = [cotangents.pop(made.results[k], None) for k in carried]
        start += [cotangents.get(value) for value in touched]
        initial = (self.stack, *self.results(values, start))
        number = Value(I64)
        self.stack = Value(STACK)
        inner = values_of(values)
        body = Block((number, self.stack, *inner))
        given = pairs(inner)
        with self.builder.inside(body):
            inside: Derivatives = dict(zip(touched, given[len(carried) :], strict=True))
            for k, g in zip(carried, given, strict=False):
                self.add(inside, made.body.results[k], g)
            self.back(made.body, inside)
            body.results = (self.stack, *self.results(values, map(inside.get, values)))
        count = made.count if isinstance(made, For) else made.results[n]
        outside = self.builder.block

        def own_number() -> Value:
            with self.builder.inside(outside):
                last = self.builder.apply("sub", [count, self.builder.constant(1)])
            return self.builder.apply("sub", [last, number])

        own = made.body.parameters[:1] if isinstance(made, For) else ()
        self.keep(made.body, body, body.parameters[1], dict.fromkeys(own, own_number))
        results = tuple([Value(value.type) for value in body.results])
        self.builder.add(For(count, initial, body, results))
        self.stack = results[0]
        found = pairs(results[1:])
        cotangents.update(zip(touched, found[len(carried) :], strict=True))
        for k, g in zip(carried, found, strict=False):
            self.add(cotangents, made.initial[k], g)

    def keep(
        self, body: Block, back: Block, stack: Value, numbers: dict[Value, Callable[[], Value]]
    ) -> None:
        """Gives the pullback `back` of a block the values that it needs of the block. It computes
        those again that are simple, or among `numbers`; others are pushed on the stack, which is
        the last result of the block and `stack` at the beginning of `back`."""
        first, inside = Block(), set(defined(body))
        needed = [value for value in used([back]) if value in inside and value.type != STACK]
        again = computed_again(body, set(numbers), needed, self.recomputable)
        pushed = {v: Value(v.type) for v in needed if v not in again and v not in numbers}
        names = dict(pushed)
        used_again = {*needed, *[value for made in again.values() for value in made.operands]}
        with self.builder.inside(first):
            names |= {value: made() for value, made in numbers.items() if value in used_again}
            if pushed:
                names[stack] = Value(STACK)
                self.builder.add(Pop(stack, tuple(pushed.values()), names[stack]))
        first.instructions += copied(Block((), list(again.values())), names).instructions
        if pushed:
            onto = Push(body.results[-1], tuple(pushed), Value(STACK))
            body.instructions.append(onto)
            body.results = (*body.results[:-1], onto.result)
        replace(back, names)
        back.instructions = [*first.instructions, *back.instructions]
