"""Copies of blocks, and the values that blocks use from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from ..ir.builder import Builder
from ..ir.instructions import Block, Each, Instruction, Value, blocks_of

Renamed = dict[Value, Value]
_Values: TypeAlias = tuple[Value, ...]


def copied(block: Block, names: Renamed) -> Block:
    """A copy of a block, which defines values of its own. `names` maps values from outside to those
    that the copy uses instead. The values of the copy are added to `names`."""
    parameters = _defined(block.parameters, names)
    instructions = [_copied(made, names) for made in block.instructions]
    return Block(parameters, instructions, renamed(block.results, names))


def inlined(block: Block, arguments: Iterable[Value]) -> tuple[list[Instruction], Sequence[Value]]:
    """A copy of a block's instructions for these `arguments`, and its results."""
    names = dict(zip(block.parameters, arguments, strict=True))
    return [_copied(made, names) for made in block.instructions], renamed(block.results, names)


def with_each(block: Block, changed: Callable[[Builder, Each], Each]) -> Block:
    """A block with each `each` as `changed` returns it, also in the blocks inside. `changed` may
    first add instructions to the builder, which come before."""
    found = Block(block.parameters, [], block.results)
    builder = Builder(found)
    for made in block.instructions:
        if isinstance(made, Each):
            builder.add(changed(builder, made))
        else:
            builder.add(with_blocks(made, lambda block: with_each(block, changed)))
    return found


def with_blocks(made: Instruction, changed: Callable[[Block], Block]) -> Instruction:
    """An instruction with each of its blocks as `changed` returns it."""
    return rebuilt(made, made.operands, made.results, list(map(changed, blocks_of(made))))


def needed_for(values: Iterable[Value], instructions: Sequence[Instruction]) -> list[Instruction]:
    """Those of the instructions that compute some values."""
    needed, chosen = {*values}, list[Instruction]()
    for made in reversed(instructions):
        if not needed.isdisjoint(made.results):
            needed.update(made.operands, used(blocks_of(made)))
            chosen.append(made)
    return chosen[::-1]


def renamed(values: _Values, names: Renamed) -> _Values:
    """The values, each replaced as `names` says."""
    return tuple([names.get(value, value) for value in values])


def _defined(values: _Values, names: Renamed) -> _Values:
    made = tuple([Value(value.type) for value in values])
    names.update(zip(values, made, strict=True))
    return made


def _copied(made: Instruction, names: Renamed) -> Instruction:
    operands = renamed(made.operands, names)
    inner = [copied(block, names) for block in blocks_of(made)]
    return rebuilt(made, operands, _defined(made.results, names), inner)


def rebuilt(
    made: Instruction,
    operands: tuple[Value, ...],
    results: tuple[Value, ...],
    inner: Sequence[Block] = (),
) -> Instruction:
    """An instruction of the same kind on other operands, with other results and blocks."""
    kind = type(made)
    new = kind.__new__(kind)
    for name in kind.KEPT:
        setattr(new, name, getattr(made, name))
    given = operands, results, inner
    for name, part, place in kind.PLACES:
        setattr(new, name, given[part][place])
    return new


def with_result(
    instructions: Iterable[Instruction], found: Value, result: Value
) -> list[Instruction]:
    """Instructions, of which one gives `found`: it gives `result` instead."""
    return [
        rebuilt(made, made.operands, (result,), blocks_of(made)) if found in made.results else made
        for made in instructions
    ]


def replace(block: Block, names: Renamed) -> None:
    """Replaces values from outside in a block, which is changed."""
    for k, made in enumerate(block.instructions):
        inner = blocks_of(made)
        for each in inner:
            replace(each, names)
        if not names.keys().isdisjoint(made.operands):
            operands = renamed(made.operands, names)
            block.instructions[k] = rebuilt(made, operands, made.results, inner)
    block.results = renamed(block.results, names)


def defined(block: Block) -> list[Value]:
    """The values that a block defines itself, not those of the blocks inside it."""
    return [*block.parameters, *[v for made in block.instructions for v in made.results]]


def used(blocks: Iterable[Block]) -> dict[Value, None]:
    """The values that blocks use from outside, in the order of their first use."""
    found: dict[Value, None] = {}
    for block in blocks:
        _use(block, set(), found)
    return found


def _use(block: Block, inside: set[Value], found: dict[Value, None]) -> None:
    """Adds to `found` what a block uses, and to `inside` what it makes, which isn't from
    outside."""
    inside.update(block.parameters)
    for made in block.instructions:
        found.update(dict.fromkeys([v for v in made.operands if v not in inside]))
        for inner in blocks_of(made):
            _use(inner, inside, found)
        inside.update(made.results)
    found.update(dict.fromkeys([v for v in block.results if v not in inside]))
