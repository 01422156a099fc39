"""The places from which an op that moves elements takes the elements of its result.

The result is divided into parts. In a part, the place of an element is an affine function of its
indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from operator import mul
from typing import Any, NamedTuple

from ..backends.backend import CPU

MOST_PARTS = 9


class Scattered(Exception):  # noqa: N818 - an answer, not an error
    """The places have no such parts, or too many."""


class Part(NamedTuple):
    """A part of a result: its start, its shape, the place in the operand of its first element, and
    the step of that place along each axis. A part whose place is None holds zeros."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    place: int | None
    steps: tuple[int, ...]


def parts_of(places: Any) -> list[Part]:
    """The parts of a result, from an array of the places of its elements. Places count from 1; 0
    stands for a zero. Raises Scattered."""
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
    """The indices along the first axis at which parts begin, and the end of the last one."""
    rows = rows.reshape(len(rows), -1)
    steps, is_new = rows[1:] - rows[:-1], ((rows[1:] == 0) != (rows[:-1] == 0)).any(axis=1)
    cuts = [0]
    for k in range(len(rows) - 1):
        if is_new[k] or (steps[k] != steps[cuts[-1]]).any():
            cuts.append(k + 1)
    return [*cuts, len(rows)]
