"""Ownership: which block owns the memory of an array, so that code may change arrays in place.

Values never change: `put` gives a new array. If nothing uses the old array later, the new one takes
over its memory; otherwise it is a copy. The memory of an array is taken over by

    a `put`, or an `each` or a loop whose first value it is,
    the end of a block whose result it is,
    a call of a region that changes or returns it.

An `each` that would fill new memory takes over that of an array that it is the last to read, if it
reads the array only at the place where it puts the number of the same point. An array that nothing
takes over is freed after its last use. Other parameters of a region belong to the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from ...ir.instructions import (
    Block,
    Branch,
    Call,
    Copy,
    Each,
    Element,
    For,
    Free,
    Instruction,
    Put,
    Region,
    Room,
    Value,
    While,
    blocks_of,
    every,
    passed_on,
    reached,
)
from ...ir.types import ArrayType
from ..copying import copied, used
from .each_places import are_in_order, place_key, places_of

Arrays: TypeAlias = dict[Value, None]  # each once, in order
Taken: TypeAlias = dict[str, list[int]]  # by the names of regions, positions of parameters


def owned(region: Region, *others: Region) -> list[Region]:
    """A region and others that it calls, with copies of arrays where two would share memory, and
    with instructions that free arrays. Each array is taken over or freed once, after all other
    uses."""
    taken: Taken = {}
    while True:  # up to a fixed point
        found = {each.name: _positions(each, taken) for each in others}
        if found == taken:
            break
        taken = found
    return [_owned(each, taken) for each in (region, *others)]


def _owned(region: Region, taken: Taken) -> Region:
    block = region.block
    if not _has_arrays(block) and not any(map(_is_array, (*block.parameters, *block.results))):
        return region
    block = copied(block, {})
    _Owning(taken).block(block, [block.parameters[k] for k in taken.get(region.name, ())])
    return Region(region.name, block)


def _positions(region: Region, taken: Taken) -> list[int]:
    """The positions of parameters that a region takes over where it may, if the regions that it
    calls take over those of `taken`."""
    if not any(map(_is_array, region.block.parameters)):
        return []
    block, owning = copied(region.block, {}), _Owning(taken)
    owning.block(block, _arrays(block.parameters))
    return [k for k, value in enumerate(block.parameters) if value in owning.used_up]


def _has_arrays(block: Block) -> bool:
    return any(
        any(_is_array(value) for value in made.results) or any(map(_has_arrays, blocks_of(made)))
        for made in block.instructions
    )


def _is_array(value: Value) -> bool:
    return isinstance(value.type, ArrayType)


def _arrays(values: Iterable[Value]) -> Arrays:
    return dict.fromkeys(filter(_is_array, values))


class _Owning:
    """Decides which instructions take over arrays.

    taken    the parameters that regions take over from their callers
    used_up  the arrays that something takes over
    """

    def __init__(self, taken: Taken) -> None:
        self.taken = taken
        self.used_up: set[Value] = set()

    def block(self, block: Block, given: Iterable[Value]) -> None:
        """Lets each array that a block defines, or owns because it is `given` to it, be taken over
        once, or freed. It may only read all other arrays."""
        made_here = _arrays([v for made in block.instructions for v in made.results])
        own = _arrays([*given, *made_here])
        rooms = {made.result for made in block.instructions if isinstance(made, Room)}
        filled: set[Value] = set()  # the rooms that get the memory of other arrays
        done: list[Instruction] = []  # from the last to the first
        block.results = self.taken_over(block.results, own, {}, done)
        later = _arrays(block.results)  # what is used after the current instruction
        for made in reversed(block.instructions):
            if isinstance(made, Room) and made.result in filled:
                continue
            inside = _arrays(used(blocks_of(made)))
            used_up = {v: None for v in (*_arrays(made.operands), *inside) if v in own}
            dying = {value: None for value in used_up if value not in later}
            copies: list[Instruction] = []
            if isinstance(made, Branch):
                for side in (made.then, made.otherwise):
                    self.block(side, dying)
                dying = {}
            elif isinstance(made, While | For):
                self.block(made.body, made.carried)
                if isinstance(made, While):
                    self.block(made.condition, ())
                made.initial = self.taken_over(made.initial, own, later | inside, copies)
                dying = {value: None for value in dying if value not in made.initial}
            elif isinstance(made, Each):
                serving = {v: None for v in dying if v in made_here and v not in made.initial}
                for k, room in enumerate(made.initial):
                    serves = [v for v in serving if v.type == room.type] if room in rooms else []
                    for value in _only_in_place(made, k, serves)[:1]:
                        made.initial = (*made.initial[:k], value, *made.initial[k + 1 :])
                        filled.add(room)
                        del serving[value], inside[value], used_up[room], dying[room]
                made.initial = self.taken_over(made.initial, own, later | inside, copies)
                dying = {value: None for value in dying if value not in made.initial}
            elif isinstance(made, Put):
                (made.array,) = self.taken_over((made.array,), own, later, copies)
                dying = {}
            elif isinstance(made, Call) and (places := self.taken.get(made.region)):
                operands = list(made.operands)
                read = _arrays([v for k, v in enumerate(operands) if k not in places])
                new = self.taken_over([operands[k] for k in places], own, later | read, copies)
                for k, value in zip(places, new, strict=True):
                    operands[k] = value
                made.operands = tuple(operands)
                dying = {value: None for value in dying if value not in new}
            dead = {value: None for value in _arrays(made.results) if value not in later}
            done += [*map(Free, dead), *map(Free, dying), made, *copies]
            later |= used_up
        done += [Free(value) for value in _arrays(given) if value not in later]
        block.instructions = done[::-1]

    def taken_over(
        self, values: Iterable[Value], own: Arrays, later: Arrays, copies: list[Instruction]
    ) -> tuple[Value, ...]:
        """The values, to be taken over. Arrays that the block doesn't own, or that are used later,
        are copied."""
        found: list[Value] = []
        for value in values:
            is_free = value in own and value not in later and value not in found
            found.append(value if is_free or not _is_array(value) else Value(value.type))
            if found[-1] is not value:
                copies.append(Copy(value, found[-1]))
            elif _is_array(value):
                self.used_up.add(value)
        return tuple(found)


def _only_in_place(made: Each, k: int, arrays: list[Value]) -> list[Value]:
    """The arrays that an `each` reads only at the place where it puts the number of the same point,
    as its result `k`. Their elements must be no other result."""
    _, place = made.given[k]
    if made.ways[k] != "put" or place is None or not arrays:
        return []
    if not are_in_order(made, place):
        return []
    places = places_of(made.body.instructions)
    others = [v for j, pair in enumerate(made.given) if j != k for v in pair]
    own, elsewhere = place_key(place, places), set[Value]()
    for each in made.body.instructions:
        is_there = isinstance(each, Element) and place_key(each.place, places) == own
        if not is_there or each.results[0] in others:
            elsewhere.update(each.operands)
    return [array for array in arrays if array not in elsewhere]


def returned_parameters(region: Region, results: Iterable[Value]) -> set[int]:
    """The positions of the parameters that some of the region's results may alias."""
    sources: defaultdict[Value, list[Value]] = defaultdict(list)
    for made in every(region.block):
        for value, name in passed_on(made):
            sources[name].append(value)
        if isinstance(made, Each):
            for value, name in zip(made.initial, made.results, strict=True):
                sources[name].append(value)
        elif isinstance(made, Call):  # which may return any of its operands
            for name in made.results:
                sources[name] += made.operands
    found = reached(results, sources)
    return {k for k, value in enumerate(region.block.parameters) if value in found}
