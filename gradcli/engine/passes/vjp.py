"""Reverse mode: a region that computes the results of another one, and then its pullback.

The pullback walks the instructions backwards and adds up cotangents in the order of a sweep over
records. What an iteration of a loop defines and the pullback needs is pushed on a stack, of which
there is one; a branch gives it as further results. Whether a path connects an input with a result
is told by a bool beside each cotangent: known where every path does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.instructions import (
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
    Region,
    Value,
    While,
    blocks_of,
)
from ..ir.types import BOOL, I64, STACK, has_tangents
from .activity import varied
from .calls import Regions
from .copying import copied, defined, replace, used
from .derivatives import Derivative, Derivatives, pairs, passed, values_of
from .hoisting import hoist
from .pullbacks import Pullbacks
from .residuals import computed_again


def vjp(
    region: Region,
    wrt: Sequence[int],
    regions: Regions | None = None,
    unsure: Sequence[int] = (),
    of: Sequence[int] | None = None,
) -> Region:
    """A region of the same parameters and a cotangent for each float result, or of those at the
    positions `of`. It gives the results; then, for each parameter of `wrt`, its cotangent and
    whether it is connected with a result. It may call one of the `regions`, to which those that it
    calls are added. Of the given cotangents at the positions `unsure`, further parameters say
    whether they are connected.

    Raises NoRule.
    """
    block = hoist(region).block  # so that no constant is a residual
    inputs = [block.parameters[k] for k in wrt]
    targets = block.results if of is None else [block.results[k] for k in of]
    targets = [value for value in targets if has_tangents(value.type)]
    seeds = [Value(value.type) for value in targets]
    flags = {k: Value(BOOL) for k in unsure}
    pullback = Pullback(block, varied(block, set(inputs)), regions or Regions())
    cotangents: Derivatives = {}
    for k, (value, seed) in enumerate(zip(targets, seeds, strict=True)):
        if value in pullback.varied:
            pullback.add(cotangents, value, Derivative(seed, flags.get(k)))
    pullback.back(block, cotangents)
    block.parameters += (*seeds, *flags.values())
    block.results += pullback.results(inputs, map(cotangents.get, inputs))
    return Region(f"{region.name}_vjp", block)


def pullback_of(
    region: Region,
    wrt: Sequence[int],
    of: Sequence[int],
    regions: Regions | None = None,
    unsure: Sequence[int] = (),
) -> Region:
    """The region of the cotangents of parameters, and whether each is connected, from those of some
    results, by their positions. It computes what it needs of the region again. `unsure` as for
    `vjp`.

    Raises NoRule.
    """
    block = copied(region.block, {})
    block.results = tuple([block.results[k] for k in of])
    whole = vjp(Region(region.name, block), wrt, regions, unsure)
    parameters, instructions = whole.block.parameters, whole.block.instructions
    return Region(whole.name, Block(parameters, instructions, whole.block.results[len(of) :]))


class Pullback(Pullbacks):
    """Appends the pullback of a block to it. The block is changed: loops count their iterations and
    push what the pullback needs, branches have more results."""

    def __init__(self, block: Block, varied: set[Value], regions: Regions) -> None:
        super().__init__(block, varied, regions)
        self.inputs = set(block.parameters)
        self.stack: Value | None = None
        if any(map(_loops, block.instructions)):
            made = NewStack(Value(STACK))
            block.instructions.insert(0, made)
            self.stack = self.thread(block, made.result)

    # ---- the forward part ------------------------------------------------------------------------

    def thread(self, block: Block, stack: Value) -> Value:
        """Hands the stack through the loops of a block; gives the stack at its end."""
        for made in list(filter(_loops, block.instructions)):
            after = Value(STACK)
            if isinstance(made, Branch):
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
        """Counts the iterations of a loop, in its last result but the stack."""
        start = Value(I64)
        block.instructions.insert(0, Constant(0, start))
        made.initial += (start,)
        made.condition.parameters += (Value(I64),)
        count = Value(I64)
        with self.builder.inside(made.body):
            more = self.builder.apply("add", [count, self.builder.constant(1)])
        made.body.parameters += (count,)
        made.body.results += (more,)
        made.results += (Value(I64),)

    # ---- backwards -------------------------------------------------------------------------------

    def back(self, block: Block, cotangents: Derivatives) -> None:
        """The pullback of a block's instructions: from cotangents of what it defines to those of
        what it uses."""
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
            elif isinstance(made, Each):
                self.each(made, cotangents)
            elif isinstance(made, Pop):
                self.pop(made, cotangents)
            elif isinstance(made, Push):
                self.push(made, cotangents)
            elif isinstance(made, Call):
                self.call(made, cotangents)

    def call(self, made: Call, cotangents: Derivatives) -> None:
        """The pullback of a call is a call, which computes the call again."""
        places = [k for k, value in enumerate(made.results) if value in cotangents]
        active = [k for k, operand in enumerate(made.operands) if operand in self.varied]
        given = [cotangents.pop(made.results[k]) for k in places]
        if not given or not active:
            return
        unsure = [k for k, g in enumerate(given) if g.connected is not None]
        name = self.regions.derived(
            "back",
            made.region,
            (active, places, unsure),
            lambda region: pullback_of(region, active, places, self.regions, unsure),
        )
        results = values_of([made.operands[k] for k in active])
        self.builder.add(Call(name, (*made.operands, *passed(given)), results, made.span))
        for k, part in zip(active, pairs(results), strict=True):
            self.add(cotangents, made.operands[k], part)

    def pop(self, made: Pop, cotangents: Derivatives) -> None:
        """The cotangent of a stack is one of the cotangents of its floats."""
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
        """The values from outside whose cotangents blocks add to."""
        return [value for value in used(blocks) if value in self.varied]

    def branch(self, made: Branch, cotangents: Derivatives) -> None:
        given = {k: cotangents.pop(v) for k, v in enumerate(made.results) if v in cotangents}
        if not given and not _loops(made):
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
        """The stack, for an instruction that changes it."""
        return (self.stack,) if self.stack is not None and _loops(made) else ()

    def expose(self, made: Branch, side: Block, block: Block) -> None:
        """Gives what the pullback of a side needs as results of the branch."""
        names = {}
        inside = set(defined(side))
        other = made.otherwise if side is made.then else made.then
        for value in [value for value in used([block]) if value in inside]:
            names[value] = Value(value.type)
            made.results += (names[value],)
            side.results += (value,)
            with self.builder.inside(other):
                other.results += (self.builder.zero(value.type),)
        replace(block, names)

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
        self.keep(made, body, number, count)
        results = tuple([Value(value.type) for value in body.results])
        self.builder.add(For(count, initial, body, results))
        self.stack = results[0]
        found = pairs(results[1:])
        cotangents.update(zip(touched, found[len(carried) :], strict=True))
        for k, g in zip(carried, found, strict=False):
            self.add(cotangents, made.initial[k], g)

    def keep(self, made: While | For, body: Block, number: Value, count: Value) -> None:
        """Gives the pullback of an iteration what it needs of it: by computing that again where it
        is simple, and otherwise from the stack."""
        first = Block()
        inside = set(defined(made.body))
        names: dict[Value, Value] = {}
        needed = [value for value in used([body]) if value in inside and value.type != STACK]
        own = made.body.parameters[:1] if isinstance(made, For) else ()  # its number
        again = computed_again(made.body, set(own), needed, self.inputs)
        pushed = [value for value in needed if value not in again and value not in own]
        numbered = set(own).intersection([*needed, *_operands(again.values())])
        last = self.builder.apply("sub", [count, self.builder.constant(1)]) if numbered else count
        with self.builder.inside(first):
            if numbered:
                names[own[0]] = self.builder.apply("sub", [last, number])
            if pushed:
                entry = {value: Value(value.type) for value in pushed}
                after = Value(STACK)
                first.instructions.append(Pop(body.parameters[1], tuple(entry.values()), after))
                names |= {**entry, body.parameters[1]: after}
            first.instructions += copied(Block((), list(again.values())), names).instructions
        if pushed:
            onto = Push(made.body.results[-1], tuple(pushed), Value(STACK))
            made.body.instructions.append(onto)
            made.body.results = (*made.body.results[:-1], onto.result)
        parameters, body.parameters = body.parameters, ()
        replace(body, names)
        body.parameters = parameters
        body.instructions = [*first.instructions, *body.instructions]


def _operands(instructions: Iterable[Instruction]) -> list[Value]:
    return [value for made in instructions for value in made.operands]


def _loops(made: Instruction) -> bool:
    """Whether there is a loop in an instruction."""
    return isinstance(made, While | For) or any(
        _loops(inner) for block in blocks_of(made) for inner in block.instructions
    )
