"""How many rows a kernel computes together, and which regions run on groups of rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.each_axes import combined_along_it
from ...ir.instructions import (
    BLOCK,
    Affine,
    Block,
    Branch,
    Cast,
    Check,
    Constant,
    Copy,
    Each,
    Element,
    For,
    Free,
    NewArray,
    NewStack,
    Operation,
    Pop,
    Push,
    Put,
    Region,
    Room,
    Value,
    While,
    blocks_of,
    every,
    is_straight,
    size_of,
)
from ...ir.types import BOOL, ArrayType, StackType
from .same_memory import SameMemory

GROUP = 32  # rows that are computed together
PART = 8  # rows of a group that are skipped together if none of them takes part
NUMBER = 8  # bytes
MOST_PLACES = 2**18  # bytes of the values of a group that runs loops
MOST_IN_ARRAYS = 2**21  # bytes of a group's own arrays
MOST_ELEMENTS = 2**9  # of an array that rows have, if any of them may be read
_KINDS = (
    Constant, Cast, Operation, Affine, Element, Check, Branch, While, For, NewStack, Push, Pop,
    Room, NewArray, Put, Copy, Free, Each,
)  # fmt: skip


def fits_groups(region: Region, by_row: Sequence[bool]) -> bool:
    """Whether a region can run on groups. It must have no calls, no large arrays, no loops in which
    arrays change places, and no code that reads the entries of one stack and adds to another. Of
    large arrays that rows have, `by_row`, it must be known which elements are read."""
    block, instructions = region.block, [*every(region.block)]
    varying = {p for p, varies in zip(block.parameters, by_row, strict=True) if varies}
    known = {made.result for made in instructions if isinstance(made, Constant)}
    any_read = {
        made.array
        for made in instructions
        if isinstance(made, Copy) or (isinstance(made, Element) and made.place not in known)
    }
    made = {value for each in instructions for value in each.results if _is_array(value)}
    in_arrays = sum([value.array_type.size for value in own_arrays(block)]) * GROUP * NUMBER
    return (
        _fits(block)
        and all(value.array_type.size <= MOST_ELEMENTS for value in varying & any_read)
        and all(value in made for value in block.results if _is_array(value))
        and not any(value.array_type.element == BOOL for value in (*made, *varying & any_read))
        and in_arrays < MOST_IN_ARRAYS
        and (is_straight(block) or size_of(block) * GROUP * NUMBER < MOST_PLACES)
    )


def own_arrays(block: Block) -> list[Value]:
    """The arrays that need memory of their own."""
    made = [m for m in every(block) if isinstance(m, Room | NewArray | Copy | Branch | Pop)]
    given = [m.entry if isinstance(m, Pop) else m.results for m in made]
    in_place = changed_by_branches(block)
    return [v for values in given for v in values if _is_array(v) and v not in in_place]


def changed_by_branches(block: Block) -> dict[Value, Value]:
    """The results of branches that have the memory of an array from before the branch, with that
    array."""
    pairs = SameMemory(block).by_branches.items()
    return {result: array for result, array in pairs if array not in block.parameters}


def _fits_each(made: Each) -> bool:
    """Whether the points are straight code, and few numbers are combined along an axis."""
    return is_straight(made.body) and (made.shape[-1] <= BLOCK or not combined_along_it(made))


def _is_array(value: Value) -> bool:
    return isinstance(value.type, ArrayType)


def _fits(block: Block) -> bool:
    for made in every(block):
        if not isinstance(made, _KINDS):
            return False
        if isinstance(made, Each) and not _fits_each(made):
            return False
        if isinstance(made, For) and all(carries(made.body, kind) for kind in (Push, Pop)):
            return False
        if isinstance(made, Branch) and all(has_either_side(made, kind) for kind in (Push, Pop)):
            return False
    return not SameMemory(block).swaps


def carries(body: Block, kind: type) -> bool:
    """Whether a loop's body pushes to, or pops from, stacks that it carries."""
    return any(isinstance(value.type, StackType) for value in body.parameters) and any(
        isinstance(made, kind) for made in every(body)
    )


def has_either_side(made: Branch, kind: type) -> bool:
    """Whether there is an instruction of a kind on either side."""
    return any(isinstance(inner, kind) for block in blocks_of(made) for inner in every(block))
