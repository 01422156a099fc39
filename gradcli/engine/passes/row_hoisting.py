"""Hoisting out of rows: what all rows of a region share is computed once, before the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ir.instructions import (
    Block,
    Constant,
    Instruction,
    NewArray,
    Region,
    Room,
    Value,
    blocks_of,
)
from ..ir.types import STACK
from .copying import copied, used
from .dead_code import without_dead_code


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
