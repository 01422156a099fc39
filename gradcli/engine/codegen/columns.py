"""How kernels on rows hold what each row has: in columns, where values of many rows follow each
other, or in rows, whose own numbers do; and the sums over rows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from ..backends.backend import CPU

APART = 8  # numbers between columns, so that they aren't all in one place of the cache


class Layout(Enum):
    """How parameters or results of a kernel are passed to it.

    SHARED  all rows have the same: it is passed itself
    COLUMN  each row has a number: the address of the first. Where each has an array, its elements
            have a column each, and how many numbers further the next one begins is passed, too
    ROWS    the numbers of a row are adjacent: the address of the first row
    SUM     results that are added up over the rows: the address of the first total
    """

    SHARED, COLUMN, ROWS, SUM = range(4)


class Held(NamedTuple):
    """How the next parameters, or results, of a region are held: `width` of them, which is 1 but in
    rows and in sums."""

    layout: Layout
    width: int = 1


def stacked(items: Sequence[Any], dtype: Any = None) -> Any:
    """Numbers, or columns of them, as an array: columns that are the rows of one, as they are."""
    first = items[0]
    whole = first.base if type(first) is CPU.ndarray else None
    if whole is not None and whole.ndim == 2 and first.ndim == 1:
        start, step = whole.ctypes.data, whole.strides[0]
        k = (first.ctypes.data - start) // step
        places = range(start + k * step, start + (k + len(items)) * step, step)
        if k + len(items) <= len(whole) and [v.ctypes.data for v in items] == [*places]:
            return whole[k : k + len(items), : len(first)]
    return CPU.xp.array(items, dtype)


def empty_columns(count: int, n: int, dtype: Any = None) -> Any:
    """Room for some columns of `n` rows, which are apart."""
    return CPU.xp.empty((count, n + APART), dtype)[:, :n]


def column_of(value: Any, n: int) -> Any:
    """A column of `n` rows: as it is, or of a number that all of them have."""
    return value if type(value) is CPU.ndarray else CPU.xp.full(n, value)
