"""Questions that passes and all writers of an `each` ask: what depends on which index, what is
combined along the last axis, and whether that is short."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from .instructions import LANES, Affine, Each, Value, size_of

# The points of a short last axis are straight code, of so many instructions at most. Several points
# of the axis before it are then computed at once. So it has fewer points than are combined at a
# time; or, if all numbers are combined, and nothing is put with a stride, up to twice as many.
STRAIGHT = 256


def work_of_points(made: Each) -> int:
    """The number of instructions of all points together."""
    return made.size * (1 + size_of(made.body))


def depending_on(made: Each, indices: Iterable[Value]) -> set[Value]:
    """These indices, and the values of the body that depend on them."""
    found = set(indices)
    for inner in made.body.instructions:
        if not found.isdisjoint(inner.operands):
            found.update(inner.results)
    return found


def of_last_axis(made: Each) -> set[Value]:
    """The last index, and the values of the body that depend on it."""
    return depending_on(made, made.body.parameters[-1:])


def combined_along_it(made: Each) -> list[int]:
    """The positions of the results whose numbers are combined along the last axis first."""
    inner = of_last_axis(made)
    return [
        k
        for k, (way, (_, place)) in enumerate(zip(made.ways, made.given, strict=True))
        if way != "put" and place not in inner
    ]


def is_short(made: Each) -> bool:
    """Whether the last axis has so few points that these are straight code."""
    outer = made.shape[:-1]
    most = LANES if len(combined_along_it(made)) < len(made.ways) else 2 * LANES
    return made.shape[-1] < most and work_of_points(made) <= STRAIGHT * prod(outer)


class Steps:
    """How far places of an `each` move along its axes.

    axes     the axis of each index
    affine   the places that are `Affine`
    varying  values that may differ between points
    """

    def __init__(self, made: Each) -> None:
        self.axes = {value: k for k, value in enumerate(made.body.parameters)}
        self.affine = {
            inner.result: inner for inner in made.body.instructions if isinstance(inner, Affine)
        }
        self.varying = depending_on(made, (*self.axes, *self.affine))

    def __call__(self, place: Value) -> list[int] | None:
        """The steps of a place along each axis; None if they differ between points."""
        found, made = [0] * len(self.axes), self.affine.get(place)
        operands, steps = ((place,), (1,)) if made is None else (made.operands, made.steps)
        for value, step in zip(operands, steps, strict=True):
            if value in self.axes:
                found[self.axes[value]] += step
            elif value in self.varying:
                return None
        return found
