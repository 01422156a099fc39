"""Scalar replacement: an array of few elements becomes scalars, which need no memory.

A parameter or result that is such an array becomes one for each element, in order. Where a place
isn't known before the region runs, choices pick the element.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.builder import Builder
from ..ir.instructions import (
    Block,
    Call,
    Constant,
    Copy,
    Each,
    Element,
    Free,
    Instruction,
    NewArray,
    Product,
    Put,
    Region,
    Room,
    Structural,
    Value,
    blocks_of,
)
from ..ir.scalars import WHERE
from ..ir.types import ArrayType, Type
from .copying import rebuilt

MOST = 16  # elements


def is_few(kind: Type) -> bool:
    """Whether values of a type are arrays of few elements."""
    return isinstance(kind, ArrayType) and kind.size <= MOST


def in_scalars(region: Region) -> Region:
    """The region without arrays of few elements."""
    return Region(region.name, _Replacing(Builder(Block())).block(region.block))


class _Replacing:
    """Rebuilds instructions.

    items   the elements of arrays
    names   the new values of scalars
    places  the constants
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.items: dict[Value, tuple[Value, ...]] = {}
        self.names: dict[Value, Value] = {}
        self.places: dict[Value, int] = {}

    def used(self, values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple([each for v in values for each in self.items.get(v, (self.names.get(v, v),))])

    def defined(self, values: Iterable[Value]) -> tuple[Value, ...]:
        values = tuple(values)
        for value in values:
            if isinstance(value.type, ArrayType) and is_few(value.type):
                kind = value.type.element
                self.items[value] = tuple([Value(kind) for _ in range(value.type.size)])
        return self.used(values)

    def block(self, block: Block) -> Block:
        new = Block(self.defined(block.parameters))
        with self.builder.inside(new):
            for made in block.instructions:
                self.instruction(made)
        new.results = self.used(block.results)
        return new

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Constant):
            self.places[made.result] = made.value
            self.builder.add(made)
        elif isinstance(made, NewArray) and isinstance(made.result.type, ArrayType):
            if not is_few(made.result.type):
                self.keep(made)
                return
            self.items[made.result] = self.used([made.number]) * made.result.type.size
        elif isinstance(made, Element) and made.array in self.items:
            self.names[made.result] = self.element(self.items[made.array], made.place)
        elif isinstance(made, Put) and made.array in self.items:
            self.put(made)
        elif isinstance(made, Copy) and made.array in self.items:
            self.items[made.result] = self.items[made.array]
        elif isinstance(made, Room) and is_few(made.result.type):
            kind = made.result.array_type
            self.items[made.result] = (self.builder.zero(kind.element),) * kind.size
        elif isinstance(made, Call | Each | Product | Structural):
            self.whole(made)
        elif not (isinstance(made, Free) and made.array in self.items):
            self.keep(made)

    def keep(self, made: Instruction) -> None:
        """An instruction on scalars, or on larger arrays; the blocks inside are rebuilt."""
        inner = [self.block(block) for block in blocks_of(made)]
        operands = self.used(made.operands)
        self.builder.add(rebuilt(made, operands, self.defined(made.results), inner))

    def element(self, items: tuple[Value, ...], place: Value) -> Value:
        if place in self.places:
            return items[self.places[place]]
        found = items[0]
        for k, item in enumerate(items[1:], 1):
            found = self.chosen(place, k, item, found)
        return found

    def put(self, made: Put) -> None:
        items, (number,) = self.items[made.array], self.used([made.number])
        known = self.places.get(made.place)
        self.items[made.result] = tuple(
            [
                (number if k == known else item)
                if known is not None
                else self.chosen(made.place, k, number, item)
                for k, item in enumerate(items)
            ]
        )

    def chosen(self, place: Value, k: int, there: Value, elsewhere: Value) -> Value:
        """A value where a place is the `k`th, and another one elsewhere."""
        (place,) = self.used([place])
        is_there = self.builder.apply("eq", [place, self.builder.constant(k)])
        return self.builder.operation(WHERE, [is_there, there, elsewhere])

    def whole(self, made: Call | Each | Product | Structural) -> None:
        """An instruction that takes and gives arrays in memory: a call, since other regions call
        the same region, and ops on whole arrays."""
        build, operands = self.builder, list[Value]()
        inner = [self.block(block) for block in blocks_of(made)]
        for operand in made.operands:
            if operand in self.items and isinstance(operand.type, ArrayType):
                items = self.items[operand]
                array = build.filled(operand.type, items[0])
                for k, item in enumerate(items):
                    array = build.put(array, build.constant(k), item)
                operands.append(array)
            else:
                operands += self.used([operand])
        build.add(rebuilt(made, tuple(operands), made.results, inner))
        for result in made.results:
            if isinstance(result.type, ArrayType) and is_few(result.type):
                places = [build.constant(k) for k in range(result.type.size)]
                self.items[result] = tuple([build.element(result, place) for place in places])
