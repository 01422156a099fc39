"""Activity: the values of a region that depend on its inputs in a way that has derivatives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from ...ir.instructions import (
    Block,
    Call,
    Cast,
    Each,
    Element,
    Instruction,
    NewArray,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Structural,
    Value,
    every,
    passed_on,
    reached,
)
from ...ir.scalars import differentiated
from ...ir.types import STACK, has_tangents


def varied(block: Block, inputs: Iterable[Value]) -> set[Value]:
    """The floats that depend on `inputs` on some path, and the stacks that hold one at any time.
    All entries of such a stack have derivatives."""
    return _reachable(_edges(block), inputs)


def leading(block: Block, results: Iterable[Value]) -> set[Value]:
    """The values that some of `results` depend on, in the sense of `varied`."""
    return _reachable(((to, of) for of, to in _edges(block)), results)


def _reachable(edges: Iterable[tuple[Value, Value]], start: Iterable[Value]) -> set[Value]:
    """The values that edges lead to from those of `start`, which are among them."""
    onward = defaultdict(list)
    for value, other in edges:
        onward[value].append(other)
    return reached(start, onward)


def _edges(block: Block) -> Iterator[tuple[Value, Value]]:
    """Pairs of values: where the first has derivatives, so has the second."""
    for made in every(block):
        links = list(passed_on(made))
        yield from links
        yield from product(_active_operands(made), filter(_may_vary, made.results))
        if isinstance(made, Each):
            for k, (number, _) in enumerate(made.given):
                if made.ways[k] in ("put", "add"):  # an extreme moves nothing
                    yield from product((made.initial[k], number), (made.results[k],))
        elif isinstance(made, Push | Pop):
            links = [(made.stack, made.result)]
        elif isinstance(made, Call):
            links = list(product(made.operands, made.results))
        # all entries of a stack have derivatives if any has, so also those before it
        yield from ((b, a) for a, b in links if a.type == b.type == STACK)


def _active_operands(made: Instruction) -> Sequence[Value]:
    """The operands of an instruction by which all of its results have derivatives."""
    if isinstance(made, Operation):
        return [made.operands[k] for k in differentiated(made)] if made.op.differentiable else ()
    if isinstance(made, Structural):
        moving = enumerate(made.operands) if made.op.differentiable else ()
        return [value for k, value in moving if made.op.moves_with(k)]
    if isinstance(made, Pop):
        return (made.stack,)
    if isinstance(made, Call | Cast | Push | Put | Element | NewArray | Product):
        return made.operands
    return ()


def _may_vary(value: Value) -> bool:
    return value.type == STACK or has_tangents(value.type)
