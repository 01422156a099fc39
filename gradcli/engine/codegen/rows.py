"""Regions on many rows, as machine code: import this only to compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.backend import CPU
from ..ir.instructions import Block, Constant, Region
from ..ir.types import DTYPES, F64, ArrayType, Scalar
from .llvm import loaded
from .llvm_rows import NotNative, rows_text
from .machine import O3, assembled
from .python import StepBack

__all__ = ["NotNative", "RowsKernel"]


class RowsKernel:
    """A region as a function of columns.

    by_row  which of its parameters have a column; all rows share the others
    """

    def __init__(self, region: Region, others: Sequence[Region], by_row: Sequence[bool]) -> None:
        """Raises NotNative."""
        block = region.block
        known = {made.result: made.value for made in block.instructions if type(made) is Constant}
        self._results = [known.get(value, value.type) for value in block.results]
        varying = tuple([value for value in block.results if value not in known])
        computed = Region(region.name, Block(block.parameters, block.instructions, varying))
        self._by_row = list(by_row)
        text, self._multiple = rows_text(computed, others, by_row)
        self._function = loaded(*assembled(text, O3))

    def run(self, n: int, values: Sequence[Any]) -> tuple[list[Any], Any]:
        """The results for `n` rows: the column of each, or a number or bool that all rows have; and
        for each row whether the region steps back, and its results mean nothing.

        Columns are arrays whose elements are one after the other. Arrays have the rows last.
        """
        room = n + -n % self._multiple
        status = CPU.xp.zeros(room, bool)
        kinds = [kind for kind in self._results if isinstance(kind, Scalar | ArrayType)]
        floats = iter(CPU.xp.empty((kinds.count(F64), room)))
        columns = [next(floats) if kind is F64 else _empty(kind, room) for kind in kinds]
        whole = n - n % self._multiple
        if whole:
            self._call(whole, status, values, columns)
        if whole < n:  # the last row again and again, up to a multiple
            places = CPU.xp.minimum(CPU.xp.arange(whole, room), n - 1)
            rest = [
                CPU.xp.take(v, places, axis=-1) if varies else v
                for v, varies in zip(values, self._by_row, strict=True)
            ]
            self._call(room - whole, status[whole:], rest, [c[..., whole:] for c in columns])
        found = iter(columns)
        results = [
            next(found)[..., :n] if isinstance(kind, Scalar | ArrayType) else kind
            for kind in self._results
        ]
        return results, status[:n]

    def _call(self, n: int, status: Any, values: Sequence[Any], columns: Sequence[Any]) -> None:
        given = [n, status.ctypes.data]
        for value, varies in zip(
            [*values, *columns], [*self._by_row, *[True] * len(columns)], strict=True
        ):
            given.append(value.ctypes.data if type(value) is CPU.ndarray else value)
            if varies and value.ndim > 1:
                given.append(value.strides[-2] // value.itemsize)
        try:
            self._function(*given)
        except StepBack:  # for want of memory
            status[:n] = True


def _empty(kind: Scalar | ArrayType, n: int) -> Any:
    """A column for numbers, or for arrays."""
    if isinstance(kind, ArrayType):
        return CPU.xp.empty((*kind.shape, n), DTYPES[kind.element])
    return CPU.xp.empty(n, DTYPES[kind])
