"""What a record keeps of values that no rule reads: shapes and dtypes."""

from __future__ import annotations

import math
from typing import Any

from ..values.lanes import Lanes


def blank(value: Any) -> Any:
    """Reduces a value that no rule reads to what a record keeps of it: of an array its shape and
    dtype, a scalar as it is."""
    if type(value) is Lanes:
        return Lanes(Blank(value.array.shape, value.dtype), value.group)
    return Blank(value.shape, value.dtype) if getattr(value, "shape", ()) else value


class Blank:
    """An operand whose value no rule will read: its shape and dtype only."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)
