"""Places in an `each`: which are the same, and whether points have them in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..ir.instructions import Affine, Each, Instruction, Value
from ..ir.types import strides
from .sharing import key_of


def places_of(instructions: Iterable[Instruction]) -> dict[Value, object]:
    """What is the same for sums of ints that are the same, by their results."""
    return {made.result: key_of(made) for made in instructions if isinstance(made, Affine)}


def place_key(place: Value | None, places: Mapping[Value, object]) -> object:
    """What is the same for places that are the same: `places` are the sums among them."""
    return place if place is None else places.get(place, place)


def are_in_order(made: Each, place: Value | None) -> bool:
    """Whether the points have places one after the other, from the first one of an array on."""
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
