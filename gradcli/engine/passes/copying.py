"""Copies of blocks, and the values that blocks use from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ir.instructions import (
    Affine,
    Block,
    Branch,
    Call,
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
    Product,
    Push,
    Put,
    Room,
    Structural,
    Value,
    While,
    blocks_of,
)

Renamed = dict[Value, Value]


def copied(block: Block, names: Renamed) -> Block:
    """A copy of a block, which defines values of its own. `names` maps values from outside to those
    that the copy uses instead; what the copy defines is added to it."""
    parameters = _defined(block.parameters, names)
    instructions = [_copied(made, names) for made in block.instructions]
    return Block(parameters, instructions, _used(block.results, names))


def inlined(block: Block, arguments: Iterable[Value]) -> tuple[list[Instruction], Sequence[Value]]:
    """A copy of a block's instructions, with `arguments` in place of its parameters, and the values
    that are its results."""
    names = dict(zip(block.parameters, arguments, strict=True))
    return [_copied(made, names) for made in block.instructions], _used(block.results, names)


def _used(values: Iterable[Value], names: Renamed) -> tuple[Value, ...]:
    return tuple([names.get(value, value) for value in values])


def _defined(values: Iterable[Value], names: Renamed) -> tuple[Value, ...]:
    for value in (values := tuple(values)):
        names[value] = Value(value.type)
    return _used(values, names)


def _copied(made: Instruction, names: Renamed) -> Instruction:
    operands = _used(made.operands, names)
    inner = [copied(block, names) for block in blocks_of(made)]
    return rebuilt(made, operands, _defined(made.results, names), inner)


def rebuilt(
    made: Instruction,
    operands: tuple[Value, ...],
    results: tuple[Value, ...],
    inner: Sequence[Block] = (),
) -> Instruction:
    """An instruction of the same kind on other operands, with other results and blocks."""
    if isinstance(made, Constant):
        return Constant(made.value, results[0])
    if isinstance(made, Cast):
        return Cast(operands[0], results[0])
    if isinstance(made, Operation):
        return Operation(made.op, operands, results[0], made.span)
    if isinstance(made, NewStack):
        return NewStack(results[0])
    if isinstance(made, Push):
        return Push(operands[0], operands[1:], results[0])
    if isinstance(made, Pop):
        return Pop(operands[0], results[1:], results[0])
    if isinstance(made, NewArray):
        return NewArray(operands[0], results[0])
    if isinstance(made, Room):
        return Room(results[0])
    if isinstance(made, Affine):
        return Affine(operands, made.steps, made.offset, results[0])
    if isinstance(made, Product):
        return Product(operands[0], operands[1], made.sizes, made.transposed, results[0])
    if isinstance(made, Structural):
        return Structural(made.op, operands, made.options, results, made.span)
    if isinstance(made, Each):
        return Each(made.shape, operands, made.ways, inner[0], results)
    if isinstance(made, Element):
        return Element(operands[0], operands[1], results[0])
    if isinstance(made, Put):
        return Put(operands[0], operands[1], operands[2], results[0])
    if isinstance(made, Copy):
        return Copy(operands[0], results[0])
    if isinstance(made, Free | Check):
        return type(made)(operands[0])
    if isinstance(made, Branch):
        return Branch(operands[0], inner[0], inner[1], results)
    if isinstance(made, While):
        return While(operands, inner[0], inner[1], results)
    if isinstance(made, For):
        return For(operands[0], operands[1:], inner[0], results)
    return Call(made.region, operands, results, made.span)


def replace(block: Block, names: Renamed) -> None:
    """Uses other values in place of some from outside."""
    if names:
        found = copied(block, {value: names.get(value, value) for value in names})
        block.parameters, block.instructions = found.parameters, found.instructions
        block.results = found.results


def defined(block: Block) -> list[Value]:
    """The values that a block defines itself, not those of the blocks inside it."""
    return [*block.parameters, *[v for made in block.instructions for v in made.results]]


def used(blocks: Iterable[Block]) -> dict[Value, None]:
    """The values that blocks use from outside, in order of their first use."""
    found: dict[Value, None] = {}
    for block in blocks:
        inside = set(block.parameters)
        for made in block.instructions:
            needed = dict.fromkeys(made.operands) | used(blocks_of(made))
            found |= {value: None for value in needed if value not in inside}
            inside.update(made.results)
        found |= {value: None for value in block.results if value not in inside}
    return found
