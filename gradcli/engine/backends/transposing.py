"""Transposed copies of arrays: from adjacent elements of a row, as files have them, to adjacent
rows, and back.

NumPy's own copy of a transposed array reads the whole array once for each column. Here it copies
some rows at a time, which stay in the cache.
"""

from __future__ import annotations

from typing import Any

from .backend import CPU

TOGETHER = 2**14  # elements that are copied at a time


def put(target: Any, source: Any) -> None:
    """Executes `target[...] = source` for arrays of one shape, of which one may be transposed in
    memory."""
    if type(target) is not CPU.xp.ndarray or target.ndim != 2 or target.size <= TOGETHER:
        target[...] = source
        return
    rows, columns = max(target.shape), min(target.shape)
    axis, some = target.shape.index(rows), max(1, TOGETHER // columns)
    for start in range(0, rows, some):
        part = (slice(None),) * axis + (slice(start, start + some),)
        target[part] = source[part]


def contiguous(xp: Any, array: Any) -> Any:
    """Returns the array in C order: itself if it is, else a copy."""
    if type(array) is not CPU.xp.ndarray or array.flags.c_contiguous or array.ndim != 2:
        return xp.ascontiguousarray(array)
    found = xp.empty(array.shape, array.dtype)
    put(found, array)
    return found
