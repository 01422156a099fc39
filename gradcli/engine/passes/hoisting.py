"""Hoisting: constants go to the start of a region, and floats that are the same in each iteration
go before their loop."""

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
    """The region with each constant once, at its start, and what loops needn't compute again before
    them. It may use values of a block around it."""
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
    """Hoists out of the loops of a block, which is in so many others. `depths` has how deep the
    values are defined that it may use, and gets its own."""
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
    """Takes from a block what it computes of values of a lower depth alone, which is theirs then.
    Ints stay: they may step back, which only an iteration that is run may do."""
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
