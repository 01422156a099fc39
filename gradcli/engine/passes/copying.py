"""Copies of blocks, and the values that blocks use from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

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
_Values: TypeAlias = tuple[Value, ...]


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


def _used(values: _Values, names: Renamed) -> _Values:
    return tuple([names.get(value, value) for value in values])


def _defined(values: _Values, names: Renamed) -> _Values:
    made = tuple([Value(value.type) for value in values])
    names.update(zip(values, made, strict=True))
    return made


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
    return _REBUILT[type(made)](made, operands, results, inner)


# By the kind of an instruction: the like of one, of operands, results and blocks.
_REBUILT: dict[type, Callable[[Any, _Values, _Values, Sequence[Block]], Instruction]] = {
    Constant: lambda made, _, results, __: Constant(made.value, results[0]),
    Cast: lambda _, operands, results, __: Cast(operands[0], results[0]),
    Operation: lambda made, operands, results, _: Operation(
        made.op, operands, results[0], made.span
    ),
    NewStack: lambda _, __, results, ___: NewStack(results[0]),
    Push: lambda _, operands, results, __: Push(operands[0], operands[1:], results[0]),
    Pop: lambda _, operands, results, __: Pop(operands[0], results[1:], results[0]),
    NewArray: lambda _, operands, results, __: NewArray(operands[0], results[0]),
    Room: lambda _, __, results, ___: Room(results[0]),
    Affine: lambda made, operands, results, _: Affine(
        operands, made.steps, made.offset, results[0]
    ),
    Product: lambda made, operands, results, _: Product(
        operands[0], operands[1], made.sizes, made.transposed, results[0]
    ),
    Structural: lambda made, operands, results, _: Structural(
        made.op, operands, made.options, results, made.span
    ),
    Each: lambda made, operands, results, inner: Each(
        made.shape, operands, made.ways, inner[0], results
    ),
    Element: lambda _, operands, results, __: Element(operands[0], operands[1], results[0]),
    Put: lambda _, operands, results, __: Put(operands[0], operands[1], operands[2], results[0]),
    Copy: lambda _, operands, results, __: Copy(operands[0], results[0]),
    Free: lambda _, operands, __, ___: Free(operands[0]),
    Check: lambda _, operands, __, ___: Check(operands[0]),
    Branch: lambda _, operands, results, inner: Branch(operands[0], inner[0], inner[1], results),
    While: lambda _, operands, results, inner: While(operands, inner[0], inner[1], results),
    For: lambda _, operands, results, inner: For(operands[0], operands[1:], inner[0], results),
    Call: lambda made, operands, results, _: Call(made.region, operands, results, made.span),
}


def replace(block: Block, names: Renamed) -> None:
    """Uses other values in place of some from outside."""
    for k, made in enumerate(block.instructions):
        inner = blocks_of(made)
        for each in inner:
            replace(each, names)
        if not names.keys().isdisjoint(made.operands):
            operands = _used(made.operands, names)
            block.instructions[k] = rebuilt(made, operands, made.results, inner)
    block.results = _used(block.results, names)


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
