"""Regions on many rows, as machine code. Import this only to compile."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from ...backends.backend import CPU
from ...ir.instructions import Block, Region, Value
from ...ir.types import DTYPES, F64, ArrayType, Type, dimensions, dtype_of, elements_of
from ...passes.scalar_replacement import in_scalars, is_few
from ..llvm.assembly import O3, assembled
from ..llvm.functions import loaded
from ..python.numbers import numbers_in
from ..step_back import StepBack
from .layout import Layout, Placement, column_of, empty_columns, stacked
from .regions import rows_text


class RowsKernel:
    """A region as a function of columns, and of arrays with the rows along one axis.

    by_row      which of its parameters differ between rows; all rows share the others
    rows_first  the results that are arrays with the rows along their first axis; arrays that are
                parameters then have them there, too. If it is None, all have the rows along the
                last axis
    summed      the results that are added up over the rows, in the order of blocks of rows
    """

    def __init__(
        self,
        region: Region,
        others: Sequence[Region],
        by_row: Sequence[bool],
        rows_first: Collection[int] | None = None,
        summed: Collection[int] = (),
    ) -> None:
        """Raises NotNative."""
        self._takes = [
            _Kind(value.type, varies, rows_first is not None)
            for value, varies in zip(region.block.parameters, by_row, strict=True)
        ]
        self._gives = [
            _Kind(value.type, True, k in (rows_first or ()), k in summed)
            for k, value in enumerate(region.block.results)
        ]
        block = in_scalars(region).block
        constants = numbers_in(block)
        values = iter(block.results)
        results: list[Value] = []
        self._known: list[Any] = []  # the values of the parts of results: None if not known
        for part in self._parts_given():
            some = [*islice(values, part.width)]
            known = constants.get(some[0]) if part.layout is Layout.COLUMN else None
            self._known.append(known)
            results += some if known is None else ()
        self._held = [part for kind in self._takes for part in kind.held]
        self._found = [
            part
            for part, known in zip(self._parts_given(), self._known, strict=True)
            if known is None
        ]
        computed = Region(region.name, Block(block.parameters, block.instructions, tuple(results)))
        text, self._multiple = rows_text(computed, others, self._held, self._found)
        self._function = loaded(*assembled((text, O3)))

    def _parts_given(self) -> list[Placement]:
        return [part for kind in self._gives for part in kind.held]

    def run(
        self,
        n: int,
        values: Sequence[Any],
        memory: int | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[list[Any], Any]:
        """The results for `n` rows: the column or the array of each, its sum, or a number or bool
        that all rows have; and for each row whether the region steps back. Results of such a row
        mean nothing, and sums leave it out. It may take `memory` bytes. Results may be stored in
        their places of `into`.

        Columns, and arrays whose rows are first, are contiguous.
        """
        given = [
            part
            for kind, value in zip(self._takes, values, strict=True)
            for part in kind.parts_of(value)
        ]
        room = n + -n % self._multiple
        status = CPU.xp.zeros(room, bool)
        found = self._begun(room, into if room == n else None)
        whole = n - n % self._multiple
        if whole:
            self._call(whole, status[:whole], given, found, memory)
        if whole < n:  # the last row is repeated up to a multiple
            places = CPU.xp.minimum(CPU.xp.arange(whole, room), n - 1)
            rest = [_rows_of(*each, places) for each in zip(given, self._held, strict=True)]
            into = [
                _rows_of(*each, slice(whole, None)) for each in zip(found, self._found, strict=True)
            ]
            self._call(n - whole, status[whole:], rest, into, memory)
            found = [_rows_of(*each, slice(n)) for each in zip(found, self._found, strict=True)]
        columns = iter(found)
        parts = iter([next(columns) if known is None else known for known in self._known])
        return [kind.together(parts, n) for kind in self._gives], status[:n]

    def _begun(self, room: int, into: Sequence[Any] | None) -> list[Any]:
        """The memory that the kernel fills: places of `into`, or new memory."""
        known = iter(self._known)
        wanted = [
            (kind, None if into is None else into[k])
            for k, kind in enumerate(self._gives)
            for _ in kind.held
            if next(known) is None
        ]
        own = [kind for kind, place in wanted if place is None]
        in_columns = [kind.part is F64 and not kind.is_summed for kind in own]
        floats = iter(empty_columns(in_columns.count(True), room))
        pairs = zip(own, in_columns, strict=True)
        made = iter([next(floats) if is_column else kind.empty(room) for kind, is_column in pairs])
        return [next(made) if place is None else place for _, place in wanted]

    def _call(
        self, n: int, status: Any, values: Sequence[Any], into: Sequence[Any], memory: int | None
    ) -> None:
        """Computes rows, the first `n` of which count in sums."""
        given = [len(status), n, status.ctypes.data]
        for value, (layout, _) in zip([*values, *into], [*self._held, *self._found], strict=True):
            given.append(value.ctypes.data if type(value) is CPU.ndarray else value)
            if layout is Layout.COLUMN and value.ndim > 1:
                given.append(value.strides[-2] // value.itemsize)
        limit = () if memory is None else (memory,)
        parts = zip(into, self._found, strict=True)
        before = [(part, part.copy()) for part, held in parts if held.layout is Layout.SUM]
        try:
            self._function(*given, *limit)
        except StepBack:  # for want of memory
            status[:] = True
            for part, total in before:
                part[...] = total


class _Kind:
    """How the values of a parameter or result are held.

    part  the type of each part: that of the elements, if each element has a column
    held  how each part is held
    """

    def __init__(self, kind: Type, by_row: bool, rows_first: bool, is_summed: bool = False) -> None:
        self.type, self.part, self.by_row, self.is_summed = kind, kind, by_row, is_summed
        self.rows_first = by_row and rows_first and isinstance(kind, ArrayType)
        layout = Layout.COLUMN if by_row else Layout.SHARED
        if is_summed:
            few = isinstance(kind, ArrayType) and is_few(kind)
            self.held = [Placement(Layout.SUM, elements_of(kind) if few else 1)]
        elif isinstance(kind, ArrayType) and is_few(kind):
            if self.rows_first:
                self.held = [Placement(Layout.ROWS, kind.size)]
            else:
                self.part, self.held = kind.element, [Placement(layout)] * kind.size
        else:
            self.held = [Placement(Layout.ROWS if self.rows_first else layout)]

    def parts_of(self, value: Any) -> Sequence[Any]:
        """The parts of a value."""
        if self.part is self.type:
            return (value,)
        if self.by_row:
            return CPU.xp.reshape(value, (-1, value.shape[-1]))  # type: ignore[no-any-return]
        return value.ravel().tolist()  # type: ignore[no-any-return]

    def empty(self, n: int) -> Any:
        """A part of `n` rows, to be filled, or an empty sum."""
        if self.is_summed:
            return CPU.xp.zeros(dimensions(self.part), dtype_of(self.part))
        if isinstance(self.part, ArrayType):
            shape = self.part.shape
            return CPU.xp.empty(
                (n, *shape) if self.rows_first else (*shape, n), DTYPES[self.part.element]
            )
        return CPU.xp.empty(n, dtype_of(self.part))

    def together(self, parts: Iterator[Any], n: int) -> Any:
        """A value of `n` rows, from the next parts."""
        if self.part is self.type:
            return next(parts)
        items = [column_of(item, n) for item in islice(parts, len(self.held))]
        return stacked(items).reshape((*dimensions(self.type), n))


def _rows_of(value: Any, held: Placement, rows: Any) -> Any:
    """Some rows of a part: a view of those of a slice, or a contiguous copy of those of these
    numbers."""
    if held.layout in (Layout.SHARED, Layout.SUM):
        return value
    axis = 0 if held.layout is Layout.ROWS else -1
    if not isinstance(rows, slice):
        return value.take(rows, axis)
    return value[rows] if axis == 0 else value[..., rows]
