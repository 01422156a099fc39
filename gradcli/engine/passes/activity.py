"""Which values of a region depend on its inputs, as derivatives see it."""

from __future__ import annotations

from ..ir.instructions import (
    Block,
    Branch,
    Call,
    Cast,
    Each,
    Element,
    For,
    Instruction,
    NewArray,
    Operation,
    Pop,
    Product,
    Push,
    Put,
    Structural,
    Value,
    While,
)
from ..ir.scalars import differentiated
from ..ir.types import STACK, Type, has_tangents, is_float


def varied(block: Block, inputs: set[Value]) -> set[Value]:
    """The floats that depend on `inputs` on some path, and the stacks that hold such at some
    time: all entries of these have derivatives."""
    found, size = set(inputs), -1
    while len(found) > size:  # until nothing is added
        size = len(found)
        _block(block, found)
        _stacks(block, found)
    return found


def _block(block: Block, found: set[Value]) -> None:
    for made in block.instructions:
        _instruction(made, found)


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
            found.update([v for v in made.results if _may_vary(v.type)])
    elif isinstance(made, Push | Put | Element | NewArray | Product):
        if found.intersection(made.operands):
            found.add(made.result)
    elif isinstance(made, Structural):
        moving = [v for k, v in enumerate(made.operands) if made.op.moves_with(k)]
        if made.op.differentiable and found.intersection(moving):
            found.update([value for value in made.results if has_tangents(value.type)])
    elif isinstance(made, Each):
        _block(made.body, found)
        for k, (number, _) in enumerate(made.given):
            is_linear = made.ways[k] in ("put", "add")  # an extreme moves nothing
            if is_linear and found.intersection((made.initial[k], number)):
                found.add(made.results[k])
    elif isinstance(made, Pop):
        if made.stack in found:
            found.update(
                [
                    v
                    for v in made.results
                    if v.type == STACK or is_float(v.type) or has_tangents(v.type)
                ]
            )
    elif isinstance(made, Branch):
        for block in (made.then, made.otherwise):
            _block(block, found)
            _given(block.results, made.results, found)
    elif isinstance(made, While | For):
        _given(made.initial, made.carried, found)
        size = -1
        while len(found) > size:  # until nothing is added
            size = len(found)
            _block(made.body, found)
            _given(made.body.results, made.carried, found)
        _given(made.carried, made.results, found)


def _may_vary(kind: Type) -> bool:
    return is_float(kind) or has_tangents(kind) or kind == STACK


def _given(values: tuple[Value, ...], to: tuple[Value, ...], found: set[Value]) -> None:
    found.update([b for a, b in zip(values, to, strict=True) if a in found])


def _stacks(block: Block, found: set[Value]) -> None:
    """Adds the stacks that those in `found` are made of."""
    for made in reversed(block.instructions):
        if isinstance(made, Push | Pop):
            if made.result in found:
                found.add(made.stack)
        elif isinstance(made, Call):
            if any(value in found for value in made.results if value.type == STACK):
                found.update([value for value in made.operands if value.type == STACK])
        elif isinstance(made, Branch):
            for side in (made.then, made.otherwise):
                _made_of(made.results, side.results, found)
                _stacks(side, found)
        elif isinstance(made, While | For):
            _made_of(made.results, made.body.results, found)
            _stacks(made.body, found)
            _made_of(made.body.results, made.carried, found)
            _made_of(made.carried, made.initial, found)


def _made_of(values: tuple[Value, ...], of: tuple[Value, ...], found: set[Value]) -> None:
    pairs = zip(values, of, strict=True)
    found.update([b for a, b in pairs if a.type == STACK and a in found])
