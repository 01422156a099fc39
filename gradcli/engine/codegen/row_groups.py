"""How many rows a kernel computes together, and which regions run on groups of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.instructions import (
    Block,
    Branch,
    Cast,
    Check,
    Constant,
    Element,
    For,
    NewStack,
    Operation,
    Pop,
    Push,
    Region,
    While,
    blocks_of,
    every,
    size_of,
)
from ..ir.types import ArrayType, StackType

CHUNK = 256  # rows of a region without loops
GROUP = 32  # rows of another one
PART = 8  # rows of a group that are left out together where none of them takes part
NUMBER = 8  # bytes
MOST_PLACES = 2**18  # bytes of a group's values
_KINDS = (Constant, Cast, Operation, Element, Check, Branch, While, For, NewStack, Push, Pop)


def fits_groups(region: Region, by_row: Sequence[bool]) -> bool:
    """Whether a region can run on groups: it has neither arrays of its own nor calls, and nothing
    that reads the entries of one stack and adds to another. Which elements it reads of the arrays
    that rows have, `by_row`, is known."""
    varying = {p for p, varies in zip(region.block.parameters, by_row, strict=True) if varies}
    constants = {made.result for made in every(region.block) if isinstance(made, Constant)}
    return (
        _fits(region.block)
        and all(
            made.place in constants
            for made in every(region.block)
            if isinstance(made, Element) and made.array in varying
        )
        and not any(isinstance(value.type, ArrayType) for value in region.block.results)
        and size_of(region.block) * GROUP * NUMBER < MOST_PLACES
    )


def _fits(block: Block) -> bool:
    for made in every(block):
        if not isinstance(made, _KINDS):
            return False
        if isinstance(made, For) and all(carries(made.body, kind) for kind in (Push, Pop)):
            return False
        if isinstance(made, Branch) and all(has_either_side(made, kind) for kind in (Push, Pop)):
            return False
    return True


def carries(body: Block, kind: type) -> bool:
    """Whether a loop's body pushes to, or pops from, stacks that it carries."""
    return any(isinstance(value.type, StackType) for value in body.parameters) and any(
        isinstance(made, kind) for made in every(body)
    )


def has_either_side(made: Branch, kind: type) -> bool:
    """Whether there is an instruction of a kind on either side."""
    return any(isinstance(inner, kind) for block in blocks_of(made) for inner in every(block))
