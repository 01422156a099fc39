"""Packing: an array that an `each` reads with a stride is transposed first, so that the points of
the axis before a short last one, which are computed at once, read numbers that are adjacent. No
number changes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir.builder import Builder
from ...ir.each_axes import is_short
from ...ir.instructions import LANES, Affine, Block, Each, Element, Region, Value, every
from ...ir.types import ArrayType
from ..copying import with_each

USES = 16  # of each number of a transposed array, at least


def pack(region: Region) -> Region:
    """The region with such arrays. It must not be differentiated any more."""
    if not any(isinstance(made, Each) and _wants(made) for made in every(region.block)):
        return region
    return Region(region.name, with_each(region.block, _packed))


def _wants(made: Each) -> bool:
    """Whether the points of the axis before the last one are computed at once, for many points of
    the axes before these two."""
    *outer, several, few = made.shape if len(made.shape) > 1 else (1, 1)
    return prod(outer) >= USES and several >= LANES and few > 1 and is_short(made)


def _packed(builder: Builder, made: Each) -> Each:
    """An `each` that reads transposed arrays, which the builder adds before it, where that pays."""
    if not _wants(made):
        return made
    indices, transposed = made.body.parameters[-2:], dict[object, Value]()
    sums = {each.result: each for each in made.body.instructions if isinstance(each, Affine)}
    body = Block(made.body.parameters, [], made.body.results)
    inner = Builder(body)
    for each in made.body.instructions:
        place = sums.get(each.place) if isinstance(each, Element) else None
        if not isinstance(each, Element) or place is None or each.array in made.initial:
            inner.add(each)
            continue
        steps = dict(zip(place.operands, place.steps, strict=True))
        if steps.keys() != {*indices} or abs(steps[indices[0]]) == 1:
            inner.add(each)
            continue
        key = each.array, place.operands, place.steps, place.offset
        if key not in transposed:
            transposed[key] = _transposed(builder, made.shape[-2:], each.array, indices, place)
        at = inner.place(indices, (1, made.shape[-2]))
        inner.add(Element(transposed[key], at, each.result))
    read = {*body.results, *[v for each in body.instructions for v in each.operands]}
    body.instructions = [
        each for each in body.instructions if not isinstance(each, Affine) or each.result in read
    ]
    return Each(made.shape, made.initial, made.ways, body, made.results)


def _transposed(
    builder: Builder, sizes: Sequence[int], array: Value, indices: Sequence[Value], place: Affine
) -> Value:
    """The elements of an array at a place that depends on these two indices, the second one
    first."""
    several, few = sizes
    steps = dict(zip(place.operands, place.steps, strict=True))

    def element(own: Sequence[Value]) -> Value:
        k, n = own
        source = builder.place((n, k), [steps[index] for index in indices], place.offset)
        return builder.element(array, source)

    return builder.array(ArrayType(array.array_type.element, (few, several)), element)
