"""Turning of rows into columns and back, as LLVM text: in the arrays of users the numbers of a row
are adjacent, in a kernel that computes several rows together those of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..llvm.frame import INT, count_up
from ..llvm.types import at, size_in_memory
from .layout import APART

SQUARE = 4  # rows and columns that are turned in registers


class Turned:
    """Columns of some rows, in memory of their own.

    kind   the type of a number in memory
    width  the numbers of a row
    rows   the number of rows, a multiple of `SQUARE`
    """

    def __init__(self, builder: Any, kind: Any, width: int, rows: int) -> None:
        self.builder, self.kind, self.width, self.rows = builder, kind, width, rows
        with builder.goto_entry_block():
            whole = ir.ArrayType(kind, max(1, width * (rows + APART)))
            self.start = builder.bitcast(builder.alloca(whole), kind.as_pointer())

    def column(self, k: Any) -> Any:
        """The address of a column."""
        step = self.rows + APART
        place = k * step if isinstance(k, int) else self.builder.mul(k, INT(step))
        return at(self.builder, self.start, place)

    def fill(self, source: Any) -> None:
        """Emits the copy from rows to the columns."""
        self._turned(source, into_columns=True)

    def copy_to(self, target: Any) -> None:
        """Emits the copy from the columns to rows."""
        self._turned(target, into_columns=False)

    def _turned(self, rows: Any, into_columns: bool) -> None:
        """Emits the copy of columns in squares, and of those that are left row by row."""
        make, width = self.builder, self.width
        whole = width - width % SQUARE

        def squares(first: Any) -> None:
            start = at(make, rows, make.mul(first, INT(width)))
            for k in range(0, whole, SQUARE):
                of_rows = [at(make, start, j * width + k) for j in range(SQUARE)]
                of_columns = [at(make, self.column(k + j), first) for j in range(SQUARE)]
                ends = (of_rows, of_columns) if into_columns else (of_columns, of_rows)
                self._turn(*ends)

        def row(index: Any) -> None:
            start = at(make, rows, make.mul(index, INT(width)))
            for k in range(whole, width):
                ends = at(make, start, k), at(make, self.column(k), index)
                source, target = ends if into_columns else reversed(ends)
                make.store(make.load(source), target)

        if whole:
            count_up(make, INT(self.rows), SQUARE, squares)
        if whole < width:
            count_up(make, INT(self.rows), 1, row)

    def _turn(self, sources: Sequence[Any], targets: Sequence[Any]) -> None:
        """Emits the copy of a square of numbers, transposed."""
        make, align = self.builder, size_in_memory(self.kind)
        vector = ir.VectorType(self.kind, SQUARE).as_pointer()
        a, b, c, d = [make.load(make.bitcast(each, vector), align=align) for each in sources]
        even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
        pairs = [(self._mixed(a, b, each), self._mixed(c, d, each)) for each in (even, odd)]
        lines = [self._mixed(*p, each) for each in ((0, 1, 4, 5), (2, 3, 6, 7)) for p in pairs]
        for line, target in zip(lines, targets, strict=True):
            make.store(line, make.bitcast(target, vector), align=align)

    def _mixed(self, a: Any, b: Any, places: Sequence[int]) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), SQUARE), list(places))
        return self.builder.shuffle_vector(a, b, mask)
