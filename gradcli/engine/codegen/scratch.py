"""Scratch memory of a kernel: where its large arrays are, which one call after another takes over.

Fresh memory of many pages costs more than what is computed in it. So arrays that a region makes
once, and that are read and changed there alone, have places in one piece of memory, which is kept
between calls.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir.instructions import (
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
from ..ir.types import ArrayType
from .llvm_types import llvm_type, size_in_memory

LEAST = 2**17  # bytes of an array that has a place here: the C library reuses less by itself
MOST = 2**26  # of all places together
ALIGNED = 64


class Scratch(NamedTuple):
    """The places of arrays, in bytes; all values that are there; and how many bytes they take."""

    places: dict[Value, int]
    held: frozenset[Value]
    size: int


NO_SCRATCH = Scratch({}, frozenset(), 0)


def scratch_of(block: Block) -> Scratch:
    """The scratch memory of a block that is run once."""
    origins: dict[Value, Value] = {}  # of each value the array whose memory it has
    for made in block.instructions:
        origins |= _made(made)
        for result, taken in _taken_over(made):
            if taken in origins:
                origins[result] = origins[taken]
    leaving = {origins[value] for value in _leaving(block) if value in origins}
    places: dict[Value, int] = {}
    free: list[tuple[int, int]] = []  # bytes, and where they are
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
    """The arrays that an instruction makes, each as its own origin."""
    if not isinstance(made, Room | NewArray | Copy | Product | Structural):
        return {}
    return {value: value for value in made.results if isinstance(value.type, ArrayType)}


def _taken_over(made: Instruction) -> list[tuple[Value, Value]]:
    """Results of an instruction that have the memory of one of its operands, with that."""
    if isinstance(made, Put):
        return [(made.result, made.array)]
    return list(zip(made.results, made.initial, strict=True)) if isinstance(made, Each) else []


def _leaving(block: Block) -> set[Value]:
    """Values whose memory may be that of others, which aren't known here: those that a loop begins
    with, a block gives, or a region is called with."""
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
