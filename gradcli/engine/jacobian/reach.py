"""Which elements of an operand each element of a product reads: of those that `a @ b` or `convolve(a, v)` multiplies and adds.

Each reads an interval along each axis: one index, as `a @ b` does of the rows of `a`, a window, as `convolve` does, or all of
them. An operation that is linear in each operand tells which, where the others are ones: of an operand whose elements are
their own indices it gives sums, whose means and variances are those of the intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..backends.backend import CPU, count
from .patterns import FULL, gathered

NEAR = 0.01  # from an integer: rounding errors are far smaller


class Window(NamedTuple):
    """The first and the last index that each element of the result reads along an axis; of one that reads nothing, such as
    the padding of a convolution, the last is before the first."""

    first: Any
    last: Any


def reach(call: Callable[[Any], Any], shape: tuple[int, ...]) -> list[Window | None] | None:
    """The windows along the axes of an operand of this shape, None for what is read whole; `call` gives the result, flat, for
    an operand. None where it subtracts, so that sums tell nothing."""
    xp = CPU.xp
    total = call(xp.ones(shape))
    nothing = total == 0
    if (total < 0).any() or call(xp.arange(1.0, count(shape) + 1).reshape(shape))[nothing].any():
        return None
    total[nothing] = 1.0
    windows: list[Window | None] = []
    for axis, n in enumerate(shape):
        middle = (n - 1) / 2
        index = (xp.arange(n) - middle).reshape(n, *[1] * (len(shape) - axis - 1))
        mean = call(xp.broadcast_to(index, shape).copy()) / total
        square = call(xp.broadcast_to(index**2, shape).copy()) / total
        length = xp.sqrt(12 * xp.maximum(square - mean**2, 0) + 1)
        mean[nothing] = -middle
        first, last = mean + middle - (length - 1) / 2, mean + middle + (length - 1) / 2
        near = [xp.abs(v - xp.round(v)).max(initial=0) < NEAR for v in (first, last)]
        window = Window(*[xp.clip(xp.round(v), 0, n - 1).astype(int) for v in (first, last)])
        window.last[nothing] = window.first[nothing] - 1
        whole = not all(near) or bool((window.first == 0).all() and (window.last == n - 1).all() and n > 1)
        windows.append(None if whole else window)
    return windows


def lines(shape: tuple[int, ...], windows: list[Window | None]) -> tuple[Any, list[int]]:
    """The number of the line that each element is in, along the axes that are read whole; and the lengths of the other axes,
    along which lines are numbered."""
    xp = CPU.xp
    lengths = [1 if window is None else n for n, window in zip(shape, windows, strict=True)]
    numbers = xp.broadcast_to(xp.arange(count(tuple(lengths))).reshape(lengths), shape).ravel()
    return numbers, [n for n, window in zip(shape, windows, strict=True) if window is not None]


def united_lines(windows: list[Window], lengths: list[int], pattern: Any, room: int, unite: Callable[..., Any]) -> Any:
    """The pattern of what reads windows of lines. `unite(outer, inner, n, pattern)` has in the row `outer[k]` of `n` what the
    row `inner[k]` of the pattern has."""
    xp = CPU.xp
    widths = tuple([int((w.last - w.first).max(initial=0)) + 1 for w in windows])
    n = len(windows[0].first)
    if n * count(widths) > room:
        return FULL
    outer, inner = [], []
    for offsets in xp.ndindex(*widths):
        places = [w.first + offset for w, offset in zip(windows, offsets, strict=True)]
        inside = xp.all([place <= w.last for w, place in zip(windows, places, strict=True)], axis=0).nonzero()[0]
        outer.append(inside)
        inner.append(xp.ravel_multi_index([place[inside] for place in places], lengths))
    if len(outer) == 1 and len(outer[0]) == n:
        return gathered(pattern, inner[0])
    return unite(xp.concatenate(outer), xp.concatenate(inner), n, pattern)
