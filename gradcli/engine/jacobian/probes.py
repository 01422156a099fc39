"""Operations applied to numbers that stand for elements, to see which elements they move or read.

Each element of a contraction, as of `a @ b` or `convolve(a, v)`, reads an interval along each axis
of an operand: one index, as `a @ b` does of the rows of `a`; a few, as `convolve` does; or all. The
operation itself tells which, as it is linear in each operand: with ones in the other operands, and
indices in this one, it gives sums whose means and variances determine the intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ops.op import Op
from ..backends.backend import CPU, count, shape_of
from ..operations.rules import array_language
from ..trace.recording import Blank
from ..trace.records import Record
from ..values.lanes import Group
from .patterns import FULL, gathered
from .row_patterns import alike, apply_on_rows, shape_within

# ---- intervals of elements that are read ---------------------------------------------------------


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


# ---- elements that are moved ---------------------------------------------------------------------


def stand_in(op: Op, k: int, operand: Any, group: Group | None = None) -> Any:
    """Returns a value that replaces an operand which depends on no source."""
    if not op.moves_with(k) or operand is None:
        return on_host(operand)
    filled = CPU.xp.ones if op.multilinear else CPU.xp.zeros
    return alike(filled(shape_within(operand, group)), operand, group)


def on_host(value: Any) -> Any:
    """Returns indices in NumPy's memory, wherever they occur in options."""
    if isinstance(value, tuple | list):
        return type(value)([on_host(v) for v in value])
    return value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value


def apply_op(op: Op, operands: list[Any], options: Any) -> list[Any]:
    """Applies an op to stand-ins for its operands and returns its results."""
    options = {name: on_host(value) for name, value in options.items() if name != "inplace"}
    found = getattr(array_language(CPU, "float64"), op.name)(*operands, **options)
    return [CPU.xp.asarray(part) for part in (found if type(found) is list else [found])]


def moved(record: Record, active: dict[int, Any], group: Group | None) -> list[Any] | None:
    """Returns for each result of an operation which element of the `active` operands, counted
    through all of them, each of its elements is, or -1 for none. None for an operation that does
    more than move elements. With a group its values have rows, each with elements of its own.

    It is applied to the numbers from 1 on, and then to their squares: if each result of the second
    is the square of that of the first, each is one of the numbers, or 0. In a multilinear operation
    the other operands are ones.
    """
    op, xp = record.site.op, CPU.xp
    if not (op.linear or op.multilinear) or (op.multilinear and len(active) != 1):
        return None
    numbers = [stand_in(op, k, operand, group) for k, operand in enumerate(record.operands)]
    squares, first = numbers.copy(), 1
    for k, operand in active.items():
        n = count(shape_within(operand, group))
        each = xp.arange(float(first), first + n)
        numbers[k], squares[k] = (alike(v, operand, group) for v in (each, each**2))
        first += n
    found, after = (
        apply_op(op, values, record.options)
        if group is None
        else apply_on_rows(op, values, record.options, group)
        for values in (numbers, squares)
    )
    if found is None or after is None:
        return None
    if not all(xp.array_equal(a * a, b) for a, b in zip(found, after, strict=True)):
        return None
    return [part.ravel().astype(int) - 1 for part in found]


def apply_pullback(rule: Any, op: Op, k: int, g: Any, record: Record) -> Any:
    """Applies the pullback of a linear op to a cotangent."""
    options = {name: on_host(value) for name, value in record.options.items() if name != "inplace"}
    m, operands = array_language(CPU, "float64"), [CPU.operand(on_host(v)) for v in record.operands]
    y = Blank(shape_of(record.y), "float64") if shape_of(record.y) else CPU.operand(record.y)
    given = (k, *operands) if op.signature.variadic else operands
    return CPU.xp.asarray(rule(m, g, y, *given, **options))
