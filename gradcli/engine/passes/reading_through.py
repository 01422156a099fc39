"""Reading through copies: an element of a copied part of an array is read from the array itself. So
the row of a matrix that a function is given takes no memory, and neither does its cotangent."""

from __future__ import annotations

from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.instructions import (
    Affine,
    Block,
    Each,
    Element,
    Product,
    Region,
    Structural,
    Value,
    blocks_of,
    constants_in,
    every,
)
from ..ir.types import elements_of
from .copying import copied, defined

_READING = (Product, Structural)


class _Part(NamedTuple):
    """Adjacent elements of an array, from the one at `terms` and `offset` on."""

    array: Value
    terms: dict[Value, int]
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
        self.builder = Builder(Block())
        self.builder.known.update(constants_in(block))
        self.others = _used_otherwise(block)
        self.parts: dict[Value, _Part] = {}

    def finds_parts(self, block: Block) -> bool:
        """Whether there is a copy of a part in a block, or inside it."""
        for made in every(block):
            if isinstance(made, Affine):
                self.builder.learn(made)
        for made in every(block):
            if isinstance(made, Each):
                self.learn(made)
        return bool(self.parts)

    def rewrite(self, block: Block) -> None:
        builder = self.builder
        with builder.inside(Block()) as new:
            for made in block.instructions:
                for inner in blocks_of(made):
                    self.rewrite(inner)
                if isinstance(made, Affine):
                    builder.learn(made)
                elif isinstance(made, Each):
                    self.learn(made)
                elif isinstance(made, Element) and (part := self.parts.get(made.array)):
                    places, steps = [*part.terms, made.place], [*part.terms.values(), 1]
                    place = builder.place(places, steps, part.offset)
                    made = Element(part.array, place, made.result)
                builder.add(made)
        block.instructions = new.instructions

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
            terms, offset = self.builder.terms_of(read.place)
            if terms.get(place) == 1 and terms.keys().isdisjoint(defined(made.body)[1:]):
                rest = {value: step for value, step in terms.items() if value is not place}
                self.parts[result] = _Part(read.array, rest, offset)


def _used_otherwise(block: Block) -> set[Value]:
    found = set(block.results)
    for made in every(block):
        operands = (made.place,) if isinstance(made, Element) else made.operands
        found.update(() if isinstance(made, _READING) else operands)
        found.update(value for inner in blocks_of(made) for value in inner.results)
    return found
