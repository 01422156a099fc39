"""Hoisting: constants move to the start of a region, and floats that every iteration of a loop
would compute alike move in front of the loop."""

from __future__ import annotations

from ..ir.instructions import (
    Block,
    Cast,
    Constant,
    Each,
    For,
    Instruction,
    Operation,
    Region,
    Value,
    While,
    blocks_of,
)
from ..ir.types import is_float
from .copying import copied, replace, used


def hoist(region: Region) -> Region:
    """The region with each constant once, at its start, and with invariant floats in front of
    loops. It may use values of blocks around it."""
    block = copied(region.block, {})
    constants: dict[str, Constant] = {}
    names: dict[Value, Value] = {}
    _take_constants(block, constants, names)
    replace(block, names)
    around = [*used([block]), *[made.result for made in constants.values()]]
    _hoist(block, dict.fromkeys(around, 0), 0)
    block.instructions[:0] = constants.values()
    return Region(region.name, block)


def _take_constants(block: Block, found: dict[str, Constant], names: dict[Value, Value]) -> None:
    kept: list[Instruction] = []
    for made in block.instructions:
        if isinstance(made, Constant):
            first = found.setdefault(f"{made.result.type} {made.value!r}", made)
            names[made.result] = first.result
        else:
            for inner in blocks_of(made):
                _take_constants(inner, found, names)
            kept.append(made)
    block.instructions = kept


def _hoist(block: Block, depths: dict[Value, int], depth: int) -> None:
    """Hoists out of the loops of a block that is in `depth` others. `depths` are the depths at
    which values are defined; those of the block's values are added."""
    instructions: list[Instruction] = []
    depths.update(dict.fromkeys(block.parameters, depth))
    for made in block.instructions:
        for inner in blocks_of(made):
            _hoist(inner, depths, depth + 1)
            if isinstance(made, While | For | Each):
                instructions += _invariant(inner, depths, depth)
        depths.update(dict.fromkeys(made.results, depth))
        instructions.append(made)
    block.instructions = instructions


def _invariant(block: Block, depths: dict[Value, int], depth: int) -> list[Instruction]:
    """Removes the invariant instructions of a block, whose operands are all defined at a lower
    depth, and returns them. Ints stay: they may step back, which only an iteration that runs may
    do."""
    taken: list[Instruction] = []
    kept: list[Instruction] = []
    for made in block.instructions:
        pure = isinstance(made, Operation | Cast) and is_float(made.result.type)
        if pure and all(value in depths and depths[value] <= depth for value in made.operands):
            depths.update(dict.fromkeys(made.results, depth))
            taken.append(made)
        else:
            kept.append(made)
    block.instructions = kept
    return taken
