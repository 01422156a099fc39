"""The places in arrays that the points of an `each` read and write: whether two are equal, and in
order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...ir.instructions import Affine, Each, Instruction, Value
from ...ir.types import strides
from ..common_subexpressions import key_of


def places_of(instructions: Iterable[Instruction]) -> dict[Value, object]:
    """Keys for the places that instructions compute. Equal places have equal keys."""
    return {made.result: key_of(made) for made in instructions if isinstance(made, Affine)}


def place_key(place: Value | None, places: Mapping[Value, object]) -> object:
    """The key of a place, which may be one of `places`. Equal places have equal keys."""
    return place if place is None else places.get(place, place)


def are_in_order(made: Each, place: Value | None) -> bool:
    """Whether `place` goes through an array from its first element on, in the order of the
    points."""
    indices = made.body.parameters
    sums = [each for each in made.body.instructions if each.results == (place,)]
    if not sums:
        return indices == (place,)
    [found] = sums
    return (
        isinstance(found, Affine)
        and found.offset == 0
        and dict(zip(found.operands, found.steps, strict=True))
        == dict(zip(indices, strides(made.shape), strict=True))
    )
