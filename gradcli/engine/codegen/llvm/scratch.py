"""Scratch memory of a kernel: the memory of its large arrays, which one call after another uses.

Fresh memory of many pages costs more than the computation in it. So arrays that a region makes
once, and that only it reads and changes, have places in one piece of memory, which is kept between
calls.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.instructions import (
    Block,
    Call,
    Copy,
    Each,
    Free,
    Instruction,
    NewArray,
    Product,
    Put,
    Room,
    Structural,
    Value,
    blocks_of,
    every,
)
from ...ir.types import ArrayType
from .types import llvm_type, size_in_memory

LEAST = 2**17  # bytes of an array with a place here: the C library reuses smaller memory itself
MOST = 2**26  # of all places together
ALIGNED = 64


class Scratch(NamedTuple):
    """The places of arrays, in bytes; all values in this memory; and its size in bytes."""

    places: dict[Value, int]
    held: frozenset[Value]
    size: int


NO_SCRATCH = Scratch({}, frozenset(), 0)


def scratch_of(block: Block) -> Scratch:
    """The scratch memory of a block that runs once."""
    origins: dict[Value, Value] = {}  # for each value the array whose memory it has
    for made in block.instructions:
        origins |= _made(made)
        for result, taken in _taken_over(made):
            if taken in origins:
                origins[result] = origins[taken]
    leaving = {origins[value] for value in _leaving(block) if value in origins}
    places: dict[Value, int] = {}
    free: list[tuple[int, int]] = []  # free memory: its size and its place
    end = 0
    for made in block.instructions:
        for array in _made(made):
            size = _bytes(array)
            if array in leaving or size < LEAST:
                continue
            fitting = [k for k, (room, _) in enumerate(free) if room == size]
            if fitting:
                places[array] = free.pop(fitting[-1])[1]
            else:
                places[array], end = end, end + size + -size % ALIGNED
        if isinstance(made, Free) and origins.get(made.array) in places:
            array = origins[made.array]
            free.append((_bytes(array), places[array]))
    if not places or end > MOST:
        return NO_SCRATCH
    return Scratch(places, frozenset({v for v, array in origins.items() if array in places}), end)


def _made(made: Instruction) -> dict[Value, Value]:
    """The arrays that an instruction makes, each its own origin."""
    if not isinstance(made, Room | NewArray | Copy | Product | Structural):
        return {}
    return {value: value for value in made.results if isinstance(value.type, ArrayType)}


def _taken_over(made: Instruction) -> list[tuple[Value, Value]]:
    """Pairs of a result of an instruction and the operand whose memory it has."""
    if isinstance(made, Put):
        return [(made.result, made.array)]
    return list(zip(made.results, made.initial, strict=True)) if isinstance(made, Each) else []


def _leaving(block: Block) -> set[Value]:
    """Values whose memory other values, which aren't known here, may have: the first values of a
    loop, the results of a block, the operands of a call."""
    found = set(block.results)
    for made in every(block):
        if isinstance(made, Each):
            continue
        inner = blocks_of(made)
        if inner or isinstance(made, Call):
            found.update(made.operands)
        for each in inner:
            found.update(each.results)
    return found


def _bytes(array: Value) -> int:
    return array.array_type.size * size_in_memory(llvm_type(array.type).pointee)
