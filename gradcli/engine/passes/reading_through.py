"""Reading through copies: an element of a copied part of an array is read from the array itself. So
the row of a matrix that a function is given takes no memory, and neither does its cotangent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..ir.instructions import (
    Affine,
    Block,
    Constant,
    Each,
    Element,
    Instruction,
    Product,
    Region,
    Structural,
    Value,
    blocks_of,
    constants_in,
    every,
)
from ..ir.types import I64, elements_of
from .copying import copied, defined

_READING = (Product, Structural)


class _Part(NamedTuple):
    """Adjacent elements of an array, from the one at `terms` and `offset` on."""

    array: Value
    terms: Mapping[Value, int]
    offset: int


def read_through(region: Region) -> Region:
    """The region without reads of copied parts. An array that is changed, or passed on, stays as it
    is: to read it later would need a copy of the whole."""
    has_each = any(isinstance(made, Each) for made in every(region.block))
    if not has_each or not _Reading(region.block).finds_parts(region.block):
        return region
    block = copied(region.block, {})
    _Reading(block).rewrite(block)
    return Region(region.name, block)


class _Reading:
    """Rewrites the reads of a block and of those inside it.

    others  the values that are used otherwise than to read an element
    parts   what the copies among the arrays are copies of
    """

    def __init__(self, block: Block) -> None:
        self.known: dict[Value, Any] = constants_in(block)
        self.places: dict[Value, tuple[Mapping[Value, int], int]] = {}
        self.others = _used_otherwise(block)
        self.parts: dict[Value, _Part] = {}

    def finds_parts(self, block: Block) -> bool:
        """Whether there is a copy of a part in a block, or inside it."""
        for made in every(block):
            if isinstance(made, Affine):
                self.learn_place(made)
        for made in every(block):
            if isinstance(made, Each):
                self.learn(made)
        return bool(self.parts)

    def rewrite(self, block: Block) -> None:
        instructions: list[Instruction] = []
        for made in block.instructions:
            for inner in blocks_of(made):
                self.rewrite(inner)
            if isinstance(made, Affine):
                self.learn_place(made)
            elif isinstance(made, Each):
                self.learn(made)
            elif isinstance(made, Element) and (part := self.parts.get(made.array)):
                place = self.place(part, made.place, instructions)
                made = Element(part.array, place, made.result)
            instructions.append(made)
        block.instructions = instructions

    def learn_place(self, made: Affine) -> None:
        terms = dict(zip(made.operands, made.steps, strict=True))
        self.places[made.result] = terms, made.offset

    def learn(self, made: Each) -> None:
        """Notes which results of an `each` are copies of parts."""
        reads = {m.result: m for m in made.body.instructions if isinstance(m, Element)}
        for result, way, (number, place) in zip(made.results, made.ways, made.given, strict=True):
            read = reads.get(number)
            if read is None or place is None or way != "put":
                continue
            if (place,) != made.body.parameters or elements_of(result.type) != made.size:
                continue
            if not self.others.isdisjoint((result, read.array)):
                continue
            terms, offset = self.place_of(read.place)
            if terms.get(place) == 1 and terms.keys().isdisjoint(defined(made.body)[1:]):
                rest = {value: step for value, step in terms.items() if value is not place}
                self.parts[result] = _Part(read.array, rest, offset)

    def place_of(self, value: Value) -> tuple[Mapping[Value, int], int]:
        """A place as terms and an offset."""
        if value in self.known:
            return {}, self.known[value]
        return self.places.get(value, ({value: 1}, 0))

    def place(self, part: _Part, place: Value, added: list[Instruction]) -> Value:
        """The place in an array of an element of one of its parts. What computes it is added to
        some instructions."""
        terms, offset = self.place_of(place)
        both = dict(part.terms)
        for value, step in terms.items():
            both[value] = both.get(value, 0) + step
        both = {value: step for value, step in both.items() if step}
        offset += part.offset
        if offset == 0 and [*both.values()] == [1]:
            return next(iter(both))
        result = Value(I64)
        if both:
            self.places[result] = both, offset
            added.append(Affine(tuple(both), tuple(both.values()), offset, result))
        else:
            self.known[result] = offset
            added.append(Constant(offset, result))
        return result


def _used_otherwise(block: Block) -> set[Value]:
    found = set(block.results)
    for made in every(block):
        operands = (made.place,) if isinstance(made, Element) else made.operands
        found.update(() if isinstance(made, _READING) else operands)
        found.update(value for inner in blocks_of(made) for value in inner.results)
    return found
