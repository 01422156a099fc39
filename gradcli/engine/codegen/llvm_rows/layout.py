"""How kernels on rows hold the values of many rows: in columns, where the numbers of all rows
follow each other; in rows, where those of one row do; or as sums over rows."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from ...backends.backend import CPU

APART = 8  # numbers between columns, so that not all fall in one set of the processor's cache


class Layout(Enum):
    """How a parameter or a result is passed to a kernel.

    SHARED  all rows share it: the value itself
    COLUMN  each row has a number: the address of the first. If each row has an array, its elements
            have a column each, and the distance between the columns is passed, too
    ROWS    the numbers of a row are adjacent: the address of the first row
    SUM     results added up over the rows: the address of the first total
    """

    SHARED, COLUMN, ROWS, SUM = range(4)


class Placement(NamedTuple):
    """How the next parameters or results of a region are held: `width` of them, which is 1 except
    for ROWS and SUM."""

    layout: Layout
    width: int = 1


def stacked(items: Sequence[Any], dtype: Any = None) -> Any:
    """Numbers, or columns, as an array. If the columns are already the rows of one array, it is
    that array."""
    first = items[0]
    whole = first.base if type(first) is CPU.ndarray else None
    if whole is not None and whole.ndim == 2 and first.ndim == 1:
        start, step = whole.ctypes.data, whole.strides[0]
        k = (first.ctypes.data - start) // step
        places = range(start + k * step, start + (k + len(items)) * step, step)
        if k + len(items) <= len(whole) and [v.ctypes.data for v in items] == [*places]:
            return whole[k : k + len(items), : len(first)]
    return CPU.xp.array(items, dtype)


def empty_columns(count: int, n: int) -> Any:
    """Memory for `count` columns of `n` rows, some distance apart."""
    return CPU.xp.empty((count, n + APART))[:, :n]


def column_of(value: Any, n: int) -> Any:
    """A column of `n` rows: the value itself, or a number repeated."""
    return value if type(value) is CPU.ndarray else CPU.xp.full(n, value)
