"""Where the elements of an array come from that an op has moved.

A result is divided into parts, in each of which places follow from indices by known steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from operator import mul
from typing import Any, NamedTuple

from ..backends.backend import CPU

MOST_PARTS = 9


class Scattered(Exception):  # noqa: N818 - an answer, not an error
    """There are no such parts, or too many."""


class Part(NamedTuple):
    """A part of a result: where it begins, its shape, and the place in the operand of its first
    element, with the step along each axis; zeros where there is no place."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    place: int | None
    steps: tuple[int, ...]


def parts_of(places: Any) -> list[Part]:
    """The parts of a result, from the places of its elements, which count from 1; 0 is none. Raises
    Scattered."""
    return list(_parts(places))


def _parts(places: Any) -> Iterator[Part]:
    cuts = [_cuts(CPU.xp.moveaxis(places, axis, 0)) for axis in range(places.ndim)]
    boxes = list(product(*map(pairwise, cuts)))
    if len(boxes) > MOST_PARTS:
        raise Scattered("elements that are moved in so many parts are not compiled")
    for box in boxes:
        inside = places[tuple([slice(a, b) for a, b in box])]
        start, shape = tuple([a for a, _ in box]), tuple(inside.shape)
        if not inside.any():
            yield Part(start, shape, None, ())
            continue
        first = int(inside.ravel()[0])
        corner = (0,) * inside.ndim
        steps = tuple(
            [
                int(inside[(*corner[:k], 1, *corner[k + 1 :])]) - first if n > 1 else 0
                for k, n in enumerate(shape)
            ]
        )
        axes = CPU.xp.indices(shape, sparse=True)
        if (inside != first + sum(map(mul, steps, axes))).any() or not inside.all():
            raise Scattered("elements that are moved without known steps are not compiled")
        yield Part(start, shape, first - 1, steps)


def _cuts(rows: Any) -> list[int]:
    """Where the parts of a result begin along its first axis, and where the last one ends."""
    rows = rows.reshape(len(rows), -1)
    steps, is_new = rows[1:] - rows[:-1], ((rows[1:] == 0) != (rows[:-1] == 0)).any(axis=1)
    cuts = [0]
    for k in range(len(rows) - 1):
        if is_new[k] or (steps[k] != steps[cuts[-1]]).any():
            cuts.append(k + 1)
    return [*cuts, len(rows)]
