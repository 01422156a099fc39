"""Questions that all writers of an `each` ask: what depends on which index, and what is combined
along the last axis."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.instructions import Affine, Each, Value, size_of


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
