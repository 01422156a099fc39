"""The work that machine code counts for instructions: estimates of their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from ...ir.each_axes import work_of_points
from ...ir.instructions import (
    Block,
    Branch,
    Copy,
    Each,
    Instruction,
    NewArray,
    Operation,
    Pop,
    Product,
    Push,
    Structural,
    blocks_of,
)
from ...ir.types import ArrayType
from ..array_calls import Computed
from ..llvm_rows.group_sizes import GROUP
from .draws import is_native, work_of_draw

# Divisions may go bit by bit through the quotient, which has up to 2,000: each counts as `SLOW`.
DIVISIONS, SLOW = ("mod", "fmod", "floordiv"), 20
# Straight code is counted at every so many instructions. A count may poll, and so ends a basic
# block: LLVM takes time by the square of the length of these.
STRETCH = 500


def work_of(blocks: Iterable[Block]) -> int:
    """The instructions of blocks, without those of the loops inside; at least 1."""
    found = 1
    for made in [made for block in blocks for made in block.instructions]:
        slow = isinstance(made, Operation) and made.op.name in DIVISIONS
        found += SLOW if slow else 1
        if isinstance(made, Branch):
            found += work_of(blocks_of(made)) - 1
    return found


def work_on_arrays(made: Instruction) -> int:
    """The work of an instruction on arrays, beyond that of one on scalars."""
    if isinstance(made, Each):
        return work_of_points(made)
    if isinstance(made, Product):
        return prod(made.sizes) // 4
    if isinstance(made, Structural):
        return work_of_draw(made) if is_native(made) else Computed.by(made).work
    if isinstance(made, NewArray | Copy):
        return made.result.array_type.size
    if isinstance(made, Push | Pop):
        return sum([value.type.size for value in made.entry if isinstance(value.type, ArrayType)])
    return 0


def work_of_group(instructions: int) -> int:
    """The work of instructions for all rows of a group, four of which LLVM computes at once."""
    return GROUP * instructions // 4


def counted_at(instructions: Sequence[Instruction], most: int) -> dict[int, int]:
    """The positions at which work on arrays is counted: that of the instruction there, and of those
    that follow, up to `most` altogether. At every `STRETCH` instructions these are counted, too."""
    found: dict[int, int] = {}
    at = 0
    for k, made in enumerate(instructions):
        ends_stretch = k > 0 and k % STRETCH == 0
        work = work_on_arrays(made) + STRETCH * ends_stretch
        if work and (not found or ends_stretch or found[at] + work > most):
            at = k
        if work:
            found[at] = found.get(at, 0) + work
    return found
