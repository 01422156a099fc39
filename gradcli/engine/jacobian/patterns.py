"""Index sets: for each element of a value, the elements of the sources that it depends on.

The pattern of an array is a `Pattern`, the rows of a sparse matrix; that of a number is a frozenset
of columns, which makes loops of scalar operations ten times as fast. `FULL` means all columns in
every row, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backends.backend import CPU

FULL = object()
EXPANDED = 2**20  # columns of a full pattern that is written out to be joined with others
NOTHING: frozenset[int] = frozenset()


class Pattern:
    """Sorted columns, row after row: row `i` has `columns[starts[i]:starts[i + 1]]`."""

    __slots__ = ("columns", "starts")

    def __init__(self, starts: Any, columns: Any) -> None:
        self.starts, self.columns = starts, columns

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, k: int) -> frozenset[int]:
        return frozenset(self.columns[self.starts[k] : self.starts[k + 1]].tolist())

    @property
    def lengths(self) -> Any:
        return CPU.xp.diff(self.starts)

    @property
    def rows(self) -> Any:
        """The row of each of the columns."""
        return CPU.xp.repeat(CPU.xp.arange(len(self)), self.lengths)


def identity(n: int, first: int) -> Pattern:
    """Returns the pattern whose row `i` is the column `first + i`."""
    arange = CPU.xp.arange
    return Pattern(arange(n + 1), arange(first, first + n))


def empty(n: int) -> Pattern:
    return Pattern(CPU.xp.zeros(n + 1, int), CPU.xp.zeros(0, int))


def of_sets(sets: Iterable[frozenset[int]]) -> Pattern:
    """Returns the pattern with a row for each set."""
    xp = CPU.xp
    rows = [sorted(s) for s in sets]
    starts = xp.cumsum([0, *map(len, rows)])
    return Pattern(
        starts, xp.fromiter((column for row in rows for column in row), int, int(starts[-1]))
    )


def as_rows(value: Any) -> Any:
    """Returns a pattern as rows: a number's set becomes a `Pattern` of one row; FULL stays."""
    return of_sets([value]) if type(value) is frozenset else value


def full(n: int, columns: int) -> Pattern:
    """Returns the pattern with all columns in each of `n` rows."""
    xp = CPU.xp
    return Pattern(
        xp.arange(0, n * columns + 1, columns) if columns else xp.zeros(n + 1, int),
        xp.tile(xp.arange(columns), n),
    )


def gathered(pattern: Pattern, origins: Any) -> Pattern:
    """Returns the pattern whose row `i` is the row `origins[i]` of another; empty where
    that is -1.
    """
    xp = CPU.xp
    lengths = (
        xp.where(origins >= 0, pattern.lengths[origins], 0)
        if len(pattern)
        else xp.zeros(len(origins), int)
    )
    starts = xp.zeros(len(origins) + 1, int)
    xp.cumsum(lengths, out=starts[1:])
    # Each row's start in the old columns, less its start in the new ones.
    shift = xp.repeat(pattern.starts[origins] - starts[:-1], lengths) if len(pattern) else 0
    return Pattern(
        starts, pattern.columns[shift + xp.arange(starts[-1])] if starts[-1] else starts[:0]
    )


def merged(rows: Any, columns: Any, n: int, width: int) -> Pattern:
    """Returns the pattern of `n` rows with entries at these places, in any order and with
    repetitions.

    Columns are less than `width`.
    """
    xp = CPU.xp
    keys = unrepeated(rows * max(width, 1) + columns)
    rows, columns = xp.divmod(keys, max(width, 1))
    return Pattern(xp.searchsorted(rows, xp.arange(n + 1)), columns)


def unrepeated(numbers: Any) -> Any:
    """Returns the distinct ints in ascending order.

    NumPy's own `unique` imports all of `numpy.ma` on its first call.
    """
    xp = CPU.xp
    ordered = xp.sort(numbers)
    return ordered[xp.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def united(patterns: list[Any], width: int) -> Any:
    """Returns the union, row by row, of patterns of equal length, or of sets."""
    first = patterns[0]
    if all(p is first for p in patterns):
        return first
    if FULL in patterns:
        return FULL
    if type(first) is frozenset:
        return first.union(*patterns[1:])
    xp = CPU.xp
    if all(
        xp.array_equal(p.starts, first.starts) and xp.array_equal(p.columns, first.columns)
        for p in patterns[1:]
    ):
        return first
    return merged(
        xp.concatenate([p.rows for p in patterns]),
        xp.concatenate([p.columns for p in patterns]),
        len(first),
        width,
    )


def joined(patterns: list[Any], lengths: list[int], width: int) -> Any:
    """Returns the rows of several patterns, which have these numbers of rows, one after another."""
    if len(patterns) == 1:
        return patterns[0]
    if FULL in patterns:
        if sum(lengths) * width > EXPANDED:
            return FULL
        patterns = [
            full(n, width) if p is FULL else p for p, n in zip(patterns, lengths, strict=True)
        ]
    xp = CPU.xp
    ends = [0, *xp.cumsum([p.starts[-1] for p in patterns])]
    starts = [p.starts[1:] + end for p, end in zip(patterns, ends[:-1], strict=True)]
    return Pattern(xp.concatenate([[0], *starts]), xp.concatenate([p.columns for p in patterns]))


def product(outer: Any, inner: Any, n: int, pattern: Pattern, width: int) -> Pattern:
    """Returns the pattern of `n` rows whose row `outer[k]` contains the row `inner[k]` of
    `pattern`, for all `k`.
    """
    part = gathered(pattern, inner)
    return merged(CPU.xp.repeat(outer, part.lengths), part.columns, n, width)


def settled(pattern: Any, shape: tuple[int, ...]) -> Any:
    """Returns the pattern of a number as a set; any other pattern as it is."""
    return pattern if shape or type(pattern) is not Pattern else pattern.row(0)
