"""Regions on many rows, as machine code: import this only to compile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ..backends.backend import CPU
from ..ir.instructions import Block, Constant, Region
from ..ir.types import DTYPES, F64, ArrayType, Scalar, Type
from ..passes.scalar_replacement import in_scalars, is_few
from .columns import column_of, empty_columns, stacked
from .llvm import Limits, loaded
from .llvm_rows import NotNative, rows_text
from .machine import O3, assembled
from .numbers import number_of
from .python import StepBack

__all__ = ["NotNative", "RowsKernel"]


class RowsKernel:
    """A region as a function of columns.

    by_row  which of its parameters have a column; all rows share the others
    """

    def __init__(self, region: Region, others: Sequence[Region], by_row: Sequence[bool]) -> None:
        """Raises NotNative."""
        self._takes = [value.type for value in region.block.parameters]
        self._gives = [value.type for value in region.block.results]
        self._by_row = list(by_row)
        block = in_scalars(region).block
        known = {
            made.result: number_of(made) for made in block.instructions if type(made) is Constant
        }
        # What the results are that are scalars or large arrays: of a type, or known.
        self._results = [known.get(value, value.type) for value in block.results]
        varying = tuple([value for value in block.results if value not in known])
        # The place of each among what the region gives, if it is a number there.
        self._places = [
            k if isinstance(kind, Scalar) else None
            for k, kind in enumerate(self._gives)
            for _ in range(_parts(kind))
        ]
        self._columns = [
            v for v, k in zip(by_row, self._takes, strict=True) for _ in range(_parts(k))
        ]
        computed = Region(region.name, Block(block.parameters, block.instructions, varying))
        text, self._multiple = rows_text(computed, others, self._columns)
        self._function = loaded(*assembled(text, O3))

    def run(
        self,
        n: int,
        values: Sequence[Any],
        memory: int | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[list[Any], Any]:
        """The results for `n` rows: the column of each, or a number or bool that all rows have; and
        for each row whether the region steps back, and its results mean nothing. It may take so
        much `memory`, in bytes. Numbers of each row may be in their places of `into`.

        Columns are arrays whose elements are one after the other. Arrays have the rows last.
        """
        values = [
            each
            for value, kind, varies in zip(values, self._takes, self._by_row, strict=True)
            for each in _apart(value, kind, varies)
        ]
        room = n + -n % self._multiple
        status = CPU.xp.zeros(room, bool)
        columns = self._begun(room, into if room == n else None)
        whole = n - n % self._multiple
        if whole:
            self._call(whole, status, values, columns, memory)
        if whole < n:  # the last row again and again, up to a multiple
            places = CPU.xp.minimum(CPU.xp.arange(whole, room), n - 1)
            rest = [
                CPU.xp.take(v, places, axis=-1) if varies else v
                for v, varies in zip(values, self._columns, strict=True)
            ]
            self._call(
                room - whole, status[whole:], rest, [c[..., whole:] for c in columns], memory
            )
        found = iter(columns)
        parts = iter(
            [
                _first(next(found), n) if isinstance(kind, Scalar | ArrayType) else kind
                for kind in self._results
            ]
        )
        return [_together(parts, kind, n) for kind in self._gives], status[:n]

    def _begun(self, room: int, into: Sequence[Any] | None) -> list[Any]:
        """The columns that the kernel fills: those of `into`, or of its own."""
        given = [None if into is None or k is None else into[k] for k in self._places]
        columns = [
            (kind, column)
            for kind, column in zip(self._results, given, strict=True)
            if isinstance(kind, Scalar | ArrayType)
        ]
        own = [kind for kind, column in columns if column is None]
        floats = iter(empty_columns(own.count(F64), room))
        made = iter([next(floats) if kind is F64 else _empty(kind, room) for kind in own])
        return [next(made) if column is None else column for _, column in columns]

    def _call(
        self,
        n: int,
        status: Any,
        values: Sequence[Any],
        columns: Sequence[Any],
        memory: int | None,
    ) -> None:
        given = [n, status.ctypes.data]
        for value, varies in zip(
            [*values, *columns], [*self._columns, *[True] * len(columns)], strict=True
        ):
            given.append(value.ctypes.data if type(value) is CPU.ndarray else value)
            if varies and value.ndim > 1:
                given.append(value.strides[-2] // value.itemsize)
        limits = () if memory is None else Limits(memory=memory)
        try:
            self._function(*given, *limits)
        except StepBack:  # for want of memory
            status[:n] = True


def _parts(kind: Type) -> int:
    """How many parameters or results of the kernel one of a type is."""
    return kind.size if isinstance(kind, ArrayType) and is_few(kind) else 1


def _apart(value: Any, kind: Type, varies: bool) -> Sequence[Any]:
    """What the kernel takes of a column, or of what rows share."""
    if not is_few(kind):
        return (value,)
    if varies:
        return CPU.xp.reshape(value, (-1, value.shape[-1]))  # type: ignore[no-any-return]
    return value.ravel().tolist()  # type: ignore[no-any-return]


def _together(parts: Iterator[Any], kind: Type, n: int) -> Any:
    """A result of `n` rows, of the next of what the kernel gave."""
    if not (isinstance(kind, ArrayType) and is_few(kind)):
        return next(parts)
    items = [column_of(item, n) for item in islice(parts, kind.size)]
    return stacked(items).reshape((*kind.shape, n))


def _first(column: Any, n: int) -> Any:
    """The first `n` rows of a column, which is given back if it has no more."""
    return column if column.shape[-1] == n else column[..., :n]


def _empty(kind: Scalar | ArrayType, n: int) -> Any:
    """A column for numbers, or for arrays."""
    if isinstance(kind, ArrayType):
        return CPU.xp.empty((*kind.shape, n), DTYPES[kind.element])
    return CPU.xp.empty(n, DTYPES[kind])
