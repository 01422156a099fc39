"""Forwarding: an `each` reads an element where another `each` had it from, or computes it again if
that is as quick as reading it. So the array between them may need no memory."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.instructions import (
    Affine,
    Block,
    Constant,
    Each,
    Element,
    Instruction,
    Operation,
    Product,
    Value,
)
from ...ir.types import ArrayType
from ..copying import copied, needed_for, rebuilt, renamed
from .each_places import are_in_order, place_key, places_of

QUICK = {"add", "sub", "mul", "neg", "abs", "square", "strict_mul", "where", "lt", "le", "gt", "ge"}
QUICK |= {"eq", "ne", "maximum", "minimum", "fixed", "beside", "choose"}
MOST = 6  # operations that are as quick as reading an element

Source = Callable[[Value], Instruction | None]


def forwarded(made: Each | Product, source: Source) -> Each | Product:
    """An instruction that reads the originals of copied arrays, and computes elements itself where
    that is quick."""
    if isinstance(made, Product):
        left, right = [_original(value, source) for value in made.operands]
        return Product(left, right, made.sizes, made.transposed, made.result)
    body = Block(made.body.parameters)
    names: dict[Value, Value] = {}
    places: dict[Value, object] = {}
    for each in made.body.instructions:
        each = rebuilt(each, renamed(each.operands, names), each.results)
        places |= places_of([each])
        if isinstance(each, Element):
            array = _original(each.array, source)
            each = Element(array, each.place, each.result)
            again = _computed(each, made, places, source)
            if again is not None:
                body.instructions += again.instructions
                places |= places_of(again.instructions)
                [names[each.result]] = again.results
                continue
        body.instructions.append(each)
    body.results = renamed(made.body.results, names)
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


def _computed(read: Element, by: Each, places: dict[Value, object], source: Source) -> Block | None:
    """The instructions that compute an element where it is read; None where reading it is
    better."""
    made = source(read.array)
    if not isinstance(made, Each) or made.shape != by.shape:
        return None
    k = made.results.index(read.array)
    number, place = made.given[k]
    if made.ways[k] != "put" or place is None:
        return None
    chosen = needed_for([number], made.body.instructions)
    operations = [each for each in chosen if isinstance(each, Operation)]
    reads = [each for each in chosen if isinstance(each, Element)]
    simple = all(isinstance(each, Operation | Element | Affine | Constant) for each in chosen)
    quick = simple and all(each.op.name in QUICK for each in operations)
    if not quick or len(operations) > MOST or len(reads) > 2:
        return None
    names = dict(zip(made.body.parameters, by.body.parameters, strict=True))
    sums = [m for m in made.body.instructions if m.results == (place,) and m not in chosen]
    own = copied(Block((), [*chosen, *sums], (number, place)), names)
    found, at = own.results
    if place_key(read.place, places) != place_key(at, places_of(own.instructions)):
        return None
    return Block((), own.instructions[: len(chosen)], (found,))
