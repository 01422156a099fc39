"""Activity: the values of a region that depend on its inputs in a way that has derivatives."""

from __future__ import annotations

from itertools import product

from ..ir.instructions import (
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
)
from ..ir.scalars import differentiated
from ..ir.types import STACK, has_tangents, is_float


def varied(block: Block, inputs: set[Value]) -> set[Value]:
    """The floats that depend on `inputs` on some path, and the stacks that hold one at any time.
    All entries of such a stack have derivatives."""
    found, size, instructions = set(inputs), -1, list(every(block))
    while len(found) > size:  # until nothing is added
        size = len(found)
        for made in instructions:
            found.update([name for value, name in passed_on(made) if value in found])
            _instruction(made, found)
        for made in reversed(instructions):
            _stacks(made, found)
    return found


def _instruction(made: Instruction, found: set[Value]) -> None:
    if isinstance(made, Operation):
        operands = [made.operands[k] for k in differentiated(made)]
        if made.op.differentiable and is_float(made.result.type) and found.intersection(operands):
            found.add(made.result)
    elif isinstance(made, Cast):
        if made.operand in found and is_float(made.result.type):
            found.add(made.result)
    elif isinstance(made, Call):
        if found.intersection(made.operands):
            found.update(filter(_may_vary, made.results))
    elif isinstance(made, Push | Put | Element | NewArray | Product):
        if found.intersection(made.operands):
            found.add(made.result)
    elif isinstance(made, Structural):
        moving = [v for k, v in enumerate(made.operands) if made.op.moves_with(k)]
        if made.op.differentiable and found.intersection(moving):
            found.update([value for value in made.results if has_tangents(value.type)])
    elif isinstance(made, Each):
        for k, (number, _) in enumerate(made.given):
            is_linear = made.ways[k] in ("put", "add")  # an extreme moves nothing
            if is_linear and found.intersection((made.initial[k], number)):
                found.add(made.results[k])
    elif isinstance(made, Pop) and made.stack in found:
        found.update(filter(_may_vary, made.results))


def _may_vary(value: Value) -> bool:
    return value.type == STACK or has_tangents(value.type)


def _stacks(made: Instruction, found: set[Value]) -> None:
    """Adds the stacks that become those in `found`."""
    given = passed_on(made)
    if isinstance(made, Push | Pop):
        given = iter([(made.stack, made.result)])
    elif isinstance(made, Call):
        given = product(made.operands, made.results)
    found.update([a for a, b in given if a.type == b.type == STACK and b in found])
