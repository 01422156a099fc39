"""Intervals of an operand's elements that each element of a contraction reads, as of `a @ b` or
`convolve(a, v)`.

Each element reads an interval along each axis of the operand: one index, as `a @ b` does of the
rows of `a`; a few, as `convolve` does; or all. The operation itself tells which, as it is linear in
each operand: with ones in the other operands, and indices in this one, it gives sums whose means
and variances determine the intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..backends.backend import CPU, count
from .patterns import FULL, gathered

NEAR = 0.01  # from an integer: rounding errors are far smaller


class Interval(NamedTuple):
    """The first and the last index that each element of the result reads along an axis.

    An element that reads nothing, as in the padding of a convolution, has its last index before the
    first.
    """

    first: Any
    last: Any


def operand_intervals(
    call: Callable[[Any], Any], shape: tuple[int, ...]
) -> list[Interval | None] | None:
    """Returns the intervals along the axes of an operand of this shape; None for an axis that is
    read whole.

    `call` gives the result, flat, for an operand. Returns None if the operation subtracts, because
    then the sums say nothing.
    """
    xp = CPU.xp
    total = call(xp.ones(shape))
    nothing = total == 0
    if (total < 0).any() or call(xp.arange(1.0, count(shape) + 1).reshape(shape))[nothing].any():
        return None
    total[nothing] = 1.0
    intervals: list[Interval | None] = []
    for axis, n in enumerate(shape):
        middle = (n - 1) / 2
        index = (xp.arange(n) - middle).reshape(n, *[1] * (len(shape) - axis - 1))
        mean = call(xp.broadcast_to(index, shape).copy()) / total
        square = call(xp.broadcast_to(index**2, shape).copy()) / total
        length = xp.sqrt(12 * xp.maximum(square - mean**2, 0) + 1)
        mean[nothing] = -middle
        first, last = mean + middle - (length - 1) / 2, mean + middle + (length - 1) / 2
        near = [xp.abs(v - xp.round(v)).max(initial=0) < NEAR for v in (first, last)]
        interval = Interval(*[xp.clip(xp.round(v), 0, n - 1).astype(int) for v in (first, last)])
        interval.last[nothing] = interval.first[nothing] - 1
        whole = not all(near) or bool(
            (interval.first == 0).all() and (interval.last == n - 1).all() and n > 1
        )
        intervals.append(None if whole else interval)
    return intervals


def lines(shape: tuple[int, ...], intervals: list[Interval | None]) -> tuple[Any, list[int]]:
    """Returns the line of each element, along the axes that are read whole, and the lengths of the
    other axes.

    Lines are numbered along those other axes.
    """
    xp = CPU.xp
    lengths = [1 if interval is None else n for n, interval in zip(shape, intervals, strict=True)]
    numbers = xp.broadcast_to(xp.arange(count(tuple(lengths))).reshape(lengths), shape).ravel()
    return numbers, [
        n for n, interval in zip(shape, intervals, strict=True) if interval is not None
    ]


def united_lines(
    intervals: list[Interval],
    lengths: list[int],
    pattern: Any,
    room: int,
    unite: Callable[..., Any],
) -> Any:
    """Returns the pattern of a result whose elements read intervals of lines.

    `unite(outer, inner, n, pattern)` has `n` rows, and its row `outer[k]` contains the row
    `inner[k]` of the pattern.
    """
    xp = CPU.xp
    widths = tuple([int((w.last - w.first).max(initial=0)) + 1 for w in intervals])
    n = len(intervals[0].first)
    if n * count(widths) > room:
        return FULL
    outer, inner = [], []
    for offsets in xp.ndindex(*widths):
        places = [w.first + offset for w, offset in zip(intervals, offsets, strict=True)]
        inside = xp.all(
            [place <= w.last for w, place in zip(intervals, places, strict=True)], axis=0
        ).nonzero()[0]
        outer.append(inside)
        inner.append(xp.ravel_multi_index([place[inside] for place in places], lengths))
    if len(outer) == 1 and len(outer[0]) == n:
        return gathered(pattern, inner[0])
    return unite(xp.concatenate(outer), xp.concatenate(inner), n, pattern)
