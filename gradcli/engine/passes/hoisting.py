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
from .copying import copied, replace


def hoist(region: Region) -> Region:
    """The region with each constant once, at its start, and what loops needn't compute again before
    them."""
    block = copied(region.block, {})
    constants: dict[str, Constant] = {}
    names: dict[Value, Value] = {}
    _take_constants(block, constants, names)
    replace(block, names)
    _hoist(block, set(block.parameters) | {made.result for made in constants.values()})
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


def _hoist(block: Block, outside: set[Value]) -> None:
    """Hoists out of the loops of a block; `outside` has the values that are defined before it."""
    instructions: list[Instruction] = []
    visible = outside | set(block.parameters)
    for made in block.instructions:
        for inner in blocks_of(made):
            _hoist(inner, visible)
            if isinstance(made, While | For | Each):
                for same in _invariant(inner, visible):
                    visible.update(same.results)
                    instructions.append(same)
        visible.update(made.results)
        instructions.append(made)
    block.instructions = instructions


def _invariant(block: Block, outside: set[Value]) -> list[Instruction]:
    """Takes from a block what it computes of values from outside alone. Ints stay: they may step
    back, which only an iteration that is run may do."""
    taken: list[Instruction] = []
    kept: list[Instruction] = []
    found = set(outside)
    for made in block.instructions:
        pure = isinstance(made, Operation | Cast) and is_float(made.result.type)
        if pure and found.issuperset(made.operands):
            found.update(made.results)
            taken.append(made)
        else:
            kept.append(made)
    block.instructions = kept
    return taken
