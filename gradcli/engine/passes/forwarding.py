"""Forwarding: an element that an `each` reads, and another one has put there, is read where that
one had it from, or computed again, if that is as quick as to read it. So the array may need no
memory.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.instructions import (
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
from ..ir.types import ArrayType
from .copying import copied, rebuilt
from .sharing import key_of, place_key

QUICK = {"add", "sub", "mul", "neg", "abs", "square", "strict_mul", "where", "lt", "le", "gt", "ge"}
QUICK |= {"eq", "ne", "maximum", "minimum", "fixed", "beside", "choose"}
MOST = 6  # operations that are as quick as to read an element

Source = Callable[[Value], Instruction | None]


def forwarded(made: Each | Product, source: Source) -> Each | Product:
    """An instruction that reads no array which is the copy of another one, and no element that it
    can compute."""
    if isinstance(made, Product):
        left, right = [_original(value, source) for value in made.operands]
        return Product(left, right, made.sizes, made.transposed, made.result)
    body = Block(made.body.parameters)
    names: dict[Value, Value] = {}
    places: dict[Value, object] = {}
    for each in made.body.instructions:
        operands = tuple([names.get(value, value) for value in each.operands])
        each = rebuilt(each, operands, each.results)
        if isinstance(each, Affine):
            places[each.result] = key_of(each)
        if isinstance(each, Element):
            array = _original(each.array, source)
            each = Element(array, each.place, each.result)
            again = _computed(each, made, places, source)
            if again is not None:
                body.instructions += again.instructions
                places |= {m.result: key_of(m) for m in again.instructions if isinstance(m, Affine)}
                [names[each.result]] = again.results
                continue
        body.instructions.append(each)
    body.results = tuple([names.get(value, value) for value in made.body.results])
    return Each(made.shape, made.initial, made.ways, body, made.results)


def _original(array: Value, source: Source) -> Value:
    """The array that an array is the copy of, with another shape."""
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
            places = _places(made)
            if whole and place_key(each.place, places) == place_key(place, places):
                return each.array if _is_whole(made, place) else array
    return array


def _is_whole(made: Each, place: Value | None) -> bool:
    """Whether the points have the places of an array in order."""
    steps = dict.fromkeys(made.body.parameters, 0)
    if place in steps:
        return len(steps) == 1
    for each in made.body.instructions:
        if isinstance(each, Affine) and each.result is place:
            own = dict(zip(each.operands, each.steps, strict=True))
            near = 1
            for axis, size in zip(made.body.parameters[::-1], made.shape[::-1], strict=True):
                if own.pop(axis, 0) != near:
                    return False
                near *= size
            return not own and each.offset == 0
    return False


def _places(made: Each) -> dict[Value, object]:
    return {m.result: key_of(m) for m in made.body.instructions if isinstance(m, Affine)}


def _computed(read: Element, by: Each, places: dict[Value, object], source: Source) -> Block | None:
    """What computes an element where it is read; None if reading it is better."""
    made = source(read.array)
    if not isinstance(made, Each) or made.shape != by.shape:
        return None
    k = made.results.index(read.array)
    number, place = made.given[k]
    if made.ways[k] != "put":
        return None
    names = dict(zip(made.body.parameters, by.body.parameters, strict=True))
    own = copied(Block((), made.body.instructions, (number,)), names)
    at = names.get(place, place) if place is not None else None
    if place_key(read.place, places) != place_key(at, _places_of(own)):
        return None
    needed, chosen = {*own.results}, list[Instruction]()
    for each in reversed(own.instructions):
        if needed.intersection(each.results):
            needed.update(each.operands)
            chosen.append(each)
    operations = [each for each in chosen if isinstance(each, Operation)]
    reads = [each for each in chosen if isinstance(each, Element)]
    simple = all(isinstance(each, Operation | Element | Affine | Constant) for each in chosen)
    quick = simple and all(each.op.name in QUICK for each in operations)
    if not quick or len(operations) > MOST or len(reads) > 2:
        return None
    return Block((), chosen[::-1], own.results)


def _places_of(block: Block) -> dict[Value, object]:
    return {m.result: key_of(m) for m in block.instructions if isinstance(m, Affine)}
