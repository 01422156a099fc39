"""Hoisting: constants move to the start of a region, and floats that every iteration of a loop
computes to the front of it. What all rows of a region share is computed once, before the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir.instructions import (
    Block,
    Cast,
    Constant,
    Each,
    For,
    Instruction,
    NewArray,
    Operation,
    Region,
    Room,
    Value,
    While,
    blocks_of,
)
from ..ir.types import STACK, is_float
from .copying import copied, replace, used
from .dead_code import without_dead_code


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


class Apart(NamedTuple):
    """A region for many rows in two parts.

    before  takes some of the parameters that all rows share, and gives the values that they share
            besides
    takes   the positions of these parameters
    of_row  takes all parameters, and then the results of `before`
    """

    before: Region
    takes: list[int]
    of_row: Region


def apart(region: Region, by_row: Sequence[bool]) -> Apart:
    """The two parts of a region. `by_row` says which of its parameters differ between rows."""
    block = copied(region.block, {})
    places = [k for k, varies in enumerate(by_row) if not varies]
    given = tuple([block.parameters[k] for k in places])
    shared = set(given)
    before: list[Instruction] = []
    again: list[Instruction] = []  # by each row, too
    of_row: list[Instruction] = []
    for made in block.instructions:
        if not shared.issuperset(_read(made)) or _has_stack(made):
            of_row.append(made)
            continue
        shared.update(made.results)
        before.append(made)
        if isinstance(made, Constant | NewArray | Room):
            again.append(made)
    inner = Block((), [*again, *of_row], block.results)
    needed = [v for v in used([inner]) if v in shared and v not in given]
    parameters = (*block.parameters, *needed)
    rows = Region(region.name, Block(parameters, inner.instructions, inner.results))
    once = without_dead_code(Region("before", Block(given, before, tuple(needed))))
    read = used([Block((), once.block.instructions, once.block.results)])
    taken = [(k, v) for k, v in zip(places, once.block.parameters, strict=True) if v in read]
    once.block.parameters = tuple([v for _, v in taken])
    return Apart(once, [k for k, _ in taken], without_dead_code(rows))


def _read(made: Instruction) -> dict[Value, None]:
    """The values from outside that an instruction reads."""
    return dict.fromkeys(made.operands) | used(blocks_of(made))


def _has_stack(made: Instruction) -> bool:
    """Whether an instruction takes or gives a stack, which each row changes."""
    return any(value.type == STACK for value in (*made.operands, *made.results))
