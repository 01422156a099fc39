"""Transposed copies of arrays: from adjacent elements of a row, as in files, to adjacent rows, and
back.

NumPy copies such arrays element by element. Here long arrays with few columns are copied by
columns, and large ones by native code, once enough of them were copied (`native.py`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..backends.backend import CPU, address_of
from ..backends.tiers import policy
from . import native
from .strided import Kernel, Strided

FEW_COLUMNS = 4  # columns, at most, that are copied one by one
LEAST = 2**12  # elements
_done = [0]  # elements copied without native code


def put(target: Any, source: Any) -> None:
    """Executes `target[...] = source` for arrays of one shape, of which one may be transposed in
    memory.
    """
    if (
        type(target) is not CPU.xp.ndarray
        or target.ndim != 2
        or not target.flags.c_contiguous
        or target.size < LEAST
    ):
        target[...] = source
        return
    n, m = max(target.shape), min(target.shape)
    is_transposed = source.dtype == target.dtype and source.flags.f_contiguous
    if is_transposed and target.dtype.char == "d" and _is_hot(target.size):
        to_rows = target.shape[1] == n
        elements, rows = (source, target) if to_rows else (target, source)
        _kernel(to_rows)(
            n, m, [Strided(address_of(elements), 8 * m), Strided(address_of(rows), 8 * n)]
        )
    elif is_transposed and m <= FEW_COLUMNS:
        by_row = target.shape[0] == m
        for k in range(m):
            (target if by_row else target.T)[k] = (source if by_row else source.T)[k]
    else:
        target[...] = source


def contiguous(xp: Any, array: Any) -> Any:
    """Returns the array in C order: itself if it is, else a copy."""
    if type(array) is not CPU.xp.ndarray or array.flags.c_contiguous or array.ndim != 2:
        return xp.ascontiguousarray(array)
    found = xp.empty(array.shape, array.dtype)
    put(found, array)
    return found


def _is_hot(elements: int) -> bool:
    if _done[0] < policy().heat.operations:
        _done[0] += elements
        return False
    return native.is_there()


@cache
def _kernel(to_rows: bool) -> Kernel:
    from .native_source import transpose_kernel

    return transpose_kernel(to_rows)
