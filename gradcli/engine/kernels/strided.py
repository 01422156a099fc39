"""The memory layout of arrays as kernels accept it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..backends.backend import address_of

FLOATS = frozenset("df")  # what kernels compute with, by NumPy's letters


class Strided(NamedTuple):
    """An array argument of a kernel: its address, and the bytes from one element of a row to the
    next.
    """

    address: int
    step: int


Kernel: TypeAlias = Callable[[int, int, Sequence[Strided]], None]


def strided(values: Any, n: int) -> Strided | None:
    """Returns the layout of an array of at most `n` rows; None if kernels can't read or
    write it.
    """
    shape, strides = values.shape, values.strides
    rows = shape[-1] if shape else 1
    if (
        (values.dtype.char not in FLOATS and values.dtype.char != "?")
        or len(shape) > 2
        or rows not in (1, n)
        or (rows > 1 and strides[-1] != values.itemsize)
    ):
        return None
    return Strided(address_of(values), strides[0] if len(shape) == 2 and shape[0] > 1 else 0)
