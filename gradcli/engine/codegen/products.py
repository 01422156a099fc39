"""Products of matrices that are in memory, by NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

from ..backends.backend import CPU

WRITABLE = 0x200  # of Python's C interface: memory that may be written
_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_memory.restype = ctypes.py_object
_memory.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def multiply(
    left: int, right: int, into: int, m: int, k: int, n: int, by_columns: int, right_by_columns: int
) -> None:
    """Puts the product of the matrices at two addresses, m by k and k by n, at a third one. The
    matrices are row by row, or column by column."""
    a = _matrix(left, m, k, by_columns)
    b = _matrix(right, k, n, right_by_columns)
    CPU.xp.matmul(a, b, _matrix(into, m, n, 0))


def _matrix(address: int, rows: int, columns: int, by_columns: int) -> Any:
    shape = (columns, rows) if by_columns else (rows, columns)
    found = CPU.ndarray(shape, "float64", _memory(address, 8 * rows * columns, WRITABLE))
    return found.T if by_columns else found
