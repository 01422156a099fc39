"""Loops in blocks of iterations, each a call of a region whose pullback computes the block again.

Such a loop keeps the residuals of only one block at a time; of the others it keeps the carried
values that they begin with. All iterations are computed twice then.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ops import OPS
from ...ir.builder import Builder
from ...ir.instructions import (
    Block,
    Branch,
    Call,
    Constant,
    For,
    Operation,
    Region,
    Value,
    While,
    blocks_of,
    constants_in,
)
from ...ir.scalars import WHERE
from ...ir.types import I64, STACK
from ..calls import Regions
from ..copying import copied, used

BLOCKS = 2**8  # of a `for` loop
ITERATIONS = 2**14  # of a block of a `while` loop, whose length isn't known


def in_blocks(region: Region, regions: Regions) -> Region:
    """The region with its outermost loops in blocks, which are added to `regions`. Loops that carry
    a stack stay as they are."""
    block = copied(region.block, {})
    _Division(region.name, block, regions).divide(block)
    return Region(region.name, block)


class _Division:
    """Divides the loops of a region."""

    def __init__(self, name: str, block: Block, regions: Regions) -> None:
        self.name, self.regions, self.builder = name, regions, Builder(block)
        self.constants = constants_in(block)

    def divide(self, block: Block) -> None:
        instructions, block.instructions = block.instructions, []
        with self.builder.inside(block):
            for made in instructions:
                carries_stack = any(value.type == STACK for value in made.operands)
                if isinstance(made, While) and not carries_stack:
                    self.while_loop(made)
                    continue
                if isinstance(made, For) and not carries_stack:
                    self.for_loop(made)
                    continue
                if isinstance(made, Branch):
                    for side in blocks_of(made):
                        self.divide(side)
                self.builder.add(made)

    def for_loop(self, made: For) -> None:
        """A loop over blocks. Their number is that of the iterations if these are few."""
        builder, count = self.builder, made.count
        most, more = builder.constant(BLOCKS), builder.constant(BLOCKS - 1)
        size = builder.apply("floordiv", [builder.apply("add", [count, more]), most])
        blocks = self.least(count, most)
        number, start, own = Value(I64), Value(I64), Value(I64)
        index, *_ = made.body.parameters
        first = Operation(OPS["add"], (start, own), index)
        inner = Block((own, *made.carried), [first, *made.body.instructions], made.body.results)
        body = Block((number, *_like(made.initial)))
        with builder.inside(body):
            begin = builder.apply("mul", [number, size])
            some = self.least(builder.apply("sub", [count, begin]), size)
            given, carried = Value(I64), _like(made.initial)
            results = _like(made.initial)
            block = Block((start, given, *carried), [For(given, carried, inner, results)], results)
            body.results = self.call(block, (begin, some, *body.parameters[1:]))
        builder.add(For(blocks, made.initial, body, made.results))

    def while_loop(self, made: While) -> None:
        """A loop over blocks of at most `ITERATIONS` iterations."""
        builder, asked = self.builder, copied(made.condition, {})
        body = Block(_like(made.initial))
        block = Block(_like(made.initial))
        with builder.inside(block):
            zero, count, number = builder.constant(0), Value(I64), Value(I64)
            with builder.inside(made.condition):
                inside = builder.apply("lt", [count, builder.constant(ITERATIONS)])
                both = [inside, made.condition.results[0], builder.constant(False)]
                made.condition.results = (builder.operation(WHERE, both),)
            made.condition.parameters = (count, *made.condition.parameters)
            with builder.inside(made.body):
                following = builder.apply("add", [number, builder.constant(1)])
            made.body.parameters = (number, *made.body.parameters)
            made.body.results = (following, *made.body.results)
            results = (Value(I64), *_like(made.initial))
            builder.add(While((zero, *block.parameters), made.condition, made.body, results))
            block.results = results[1:]
        with builder.inside(body):
            body.results = self.call(block, body.parameters)
        builder.add(While(made.initial, asked, body, made.results))

    def least(self, a: Value, b: Value) -> Value:
        """The lesser of two ints."""
        return self.builder.operation(WHERE, [self.builder.apply("lt", [a, b]), a, b])

    def call(self, block: Block, operands: Sequence[Value]) -> tuple[Value, ...]:
        """A call of a block as a region of its own, which also takes the values that the block uses
        from outside, except constants."""
        outside = list(used([block]))
        known = [value for value in outside if value in self.constants]
        captured = [value for value in outside if value not in self.constants]
        names = {value: Value(value.type) for value in outside}
        own = copied(block, names)
        own.instructions[:0] = [Constant(self.constants[v], names[v]) for v in known]
        own.parameters += tuple([names[value] for value in captured])
        name = self.regions.add_again(Region(f"{self.name}_block", own))
        results = _like(block.results)
        self.builder.add(Call(name, (*operands, *captured), results))
        return results


def _like(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple([Value(value.type) for value in values])
