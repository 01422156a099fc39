"""Which block owns the memory of an array, so that code may change arrays in place.

Values never change: `put` gives another array. Where the old one isn't used any more, the new one
takes over its memory; elsewhere it gets a copy. What takes over the memory of an array: a `put`, an
`each` or a loop that it is the first value of, the end of a block that gives it. An array that
nothing takes over is freed after its last use. The parameters of a region belong to whoever runs
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..ir.instructions import (
    Block,
    Branch,
    Copy,
    Each,
    For,
    Free,
    Instruction,
    Put,
    Region,
    Value,
    While,
    blocks_of,
)
from ..ir.types import ArrayType
from .copying import copied, used

Arrays: TypeAlias = dict[Value, None]  # each once, in order


def owned(region: Region) -> Region:
    """The region with copies of arrays where two would share memory, and with what frees it. Each
    array is used up once, after all other uses."""
    block = copied(region.block, {})
    if _has_arrays(block) or any(map(_is_array, block.results)):
        _block(block, ())
    return Region(region.name, block)


def _has_arrays(block: Block) -> bool:
    return any(
        any(_is_array(value) for value in made.results) or any(map(_has_arrays, blocks_of(made)))
        for made in block.instructions
    )


def _is_array(value: Value) -> bool:
    return isinstance(value.type, ArrayType)


def _arrays(values: Iterable[Value]) -> Arrays:
    return dict.fromkeys(filter(_is_array, values))


def _block(block: Block, given: Iterable[Value]) -> None:
    """Makes each array that a block defines, or that it is `given` to own, be taken over once, or
    freed. All others it may only read."""
    own = _arrays([*given, *[v for made in block.instructions for v in made.results]])
    done: list[Instruction] = []  # from the last to the first
    block.results = _taken_over(block.results, own, {}, done)
    later = _arrays(block.results)  # what is used after the instruction that is looked at
    for made in reversed(block.instructions):
        inside = _arrays(used(blocks_of(made)))
        used_up = {value: None for value in (*_arrays(made.operands), *inside) if value in own}
        dying = {value: None for value in used_up if value not in later}
        copies: list[Instruction] = []
        if isinstance(made, Branch):
            for side in (made.then, made.otherwise):
                _block(side, dying)
            dying = {}
        elif isinstance(made, While | For):
            _block(made.body, made.carried)
            if isinstance(made, While):
                _block(made.condition, ())
            made.initial = _taken_over(made.initial, own, later | inside, copies)
            dying = {value: None for value in dying if value not in made.initial}
        elif isinstance(made, Each):
            made.initial = _taken_over(made.initial, own, later | inside, copies)
            dying = {value: None for value in dying if value not in made.initial}
        elif isinstance(made, Put):
            (made.array,) = _taken_over((made.array,), own, later, copies)
            dying = {}
        dead = {value: None for value in _arrays(made.results) if value not in later}
        done += [*map(Free, dead), *map(Free, dying), made, *copies]
        later |= used_up
    done += [Free(value) for value in _arrays(given) if value not in later]
    block.instructions = done[::-1]


def _taken_over(
    values: Iterable[Value], own: Arrays, later: Arrays, copies: list[Instruction]
) -> tuple[Value, ...]:
    """Values whose arrays are taken over: as they are, or as copies of those that aren't owned or
    are used later."""
    found: list[Value] = []
    for value in values:
        is_free = value in own and value not in later and value not in found
        found.append(value if is_free or not _is_array(value) else Value(value.type))
        if found[-1] is not value:
            copies.append(Copy(value, found[-1]))
    return tuple(found)
