"""Columns: values of many rows, one after the other, as kernels on rows give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.backend import CPU

APART = 8  # numbers between columns


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
    """Room for some columns of `n` rows. They are apart, so that their first rows aren't all in one
    place of the cache."""
    return CPU.xp.empty((count, n + APART), dtype)[:, :n]


def column_of(value: Any, n: int) -> Any:
    """A column of `n` rows: as it is, or of a number that all of them have."""
    return value if type(value) is CPU.ndarray else CPU.xp.full(n, value)
