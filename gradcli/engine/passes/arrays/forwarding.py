"""Forwarding: an `each`, or a product, reads the original of an array that is only a copy. So the
copy may need no memory."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.instructions import Block, Each, Element, Instruction, Product, Value
from ...ir.types import ArrayType
from .each_places import are_in_order, place_key, places_of

Source = Callable[[Value], Instruction | None]


def forwarded(made: Each | Product, source: Source) -> Each | Product:
    """An instruction that reads the originals of copied arrays."""
    if isinstance(made, Product):
        left, right = [_original(value, source) for value in made.operands]
        return Product(left, right, made.sizes, made.transposed, made.result)
    instructions: list[Instruction] = [
        Element(_original(each.array, source), each.place, each.result)
        if isinstance(each, Element)
        else each
        for each in made.body.instructions
    ]
    body = Block(made.body.parameters, instructions, made.body.results)
    return Each(made.shape, made.initial, made.ways, body, made.results)


def _original(array: Value, source: Source) -> Value:
    """The array that this one is a copy of, maybe of another shape; the array itself if it isn't a
    copy."""
    made = source(array)
    if not isinstance(made, Each):
        return array
    k = made.results.index(array)
    number, place = made.given[k]
    for each in made.body.instructions:
        if isinstance(each, Element) and each.result is number:
            kinds = (each.array.type, array.type)
            same = all(isinstance(kind, ArrayType) for kind in kinds) and made.ways[k] == "put"
            whole = same and kinds[0].size == kinds[1].size == made.size  # type: ignore[union-attr]
            places = places_of(made.body.instructions)
            if whole and place_key(each.place, places) == place_key(place, places):
                return each.array if are_in_order(made, place) else array
    return array
