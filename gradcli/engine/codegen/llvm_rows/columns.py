"""How a kernel on rows reaches the values of each row, as LLVM text. In the arrays of users the
numbers of a row are adjacent; a kernel that computes several rows together turns them into columns
before, and back after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import Any

from llvmlite import ir

from ...ir.instructions import Value
from ...ir.types import ArrayType
from ..llvm.each import two_by_two
from ..llvm.frame import DOUBLE, INT, Frame, count_up
from ..llvm.types import at, in_memory, llvm_types, load, size_in_memory, store
from .group_sizes import PART
from .groups import Groups
from .layout import APART, Layout, Placement

MAX_ELEMENTS = 16  # of an array that is copied without a loop


def accesses_of(values: Sequence[Value], held: Sequence[Placement], rows: int) -> list[Access]:
    """The parts that emit the access to parameters or results."""
    rest = iter(values)
    return [_KINDS[each.layout]([*islice(rest, each.width)], rows) for each in held]


class Access:
    """Parameters or results that are held in one way. This class is for one parameter that all rows
    share; the others override it.

    size  the number of elements of their array; 0 for numbers
    """

    size = 0

    def __init__(self, values: Sequence[Value], rows: int) -> None:
        """`rows`: the number of rows computed together."""
        self.values, self.rows = values, rows
        self.types = llvm_types(values)

    def enter(self, frame: Frame, parameters: Iterator[Any]) -> None:
        """Takes the next parameters of the function."""
        self.make = frame.builder
        self.given = [next(parameters) for _ in self.types]

    def prepare(self, start: Any) -> None:
        """Emits the preparation before a group is computed."""

    def loaded(self, row: Any) -> list[Any]:
        """The values of a row. An array is in memory that the next row uses, too."""
        return self.given

    def store(self, row: Any, values: Sequence[Any]) -> None:
        """Emits the stores of the values of a row."""
        raise NotImplementedError

    def complete(self, start: Any) -> None:
        """Emits the completion after a group was computed."""

    def kept(self, value: Any, counts: Any) -> Any:
        """The value of a row as it is stored. In sums, it may not count."""
        return value

    def of_group(self, groups: Groups, start: Any) -> None:
        """Tells a group of rows where its values are."""
        for value, given in zip(self.values, self.given, strict=True):
            groups.shared[value] = given

    def places(self, start: Any) -> list[Any]:
        """The places for the numbers of a group's rows."""
        raise NotImplementedError

    def element(self, start: Any, row: Any, k: Any, value: Any) -> None:
        """Emits the store of an element of an array of one row of a group."""
        raise NotImplementedError

    def element_done(self, k: Any) -> None:
        """Emits the completion after an element of all rows of a group."""


class _InMemory(Access):
    """Values that each row has. `column` is the address of the first number."""

    def __init__(self, values: Sequence[Value], rows: int) -> None:
        super().__init__(values, rows)
        kind = self.types[0] if values else DOUBLE  # a row may have no numbers
        first = values[0].type if values else None
        self.size = first.size if isinstance(first, ArrayType) else 0
        self.kind = in_memory(kind.pointee if self.size else kind)
        self.types = [self.kind.as_pointer()]

    def enter(self, frame: Frame, parameters: Iterator[Any]) -> None:
        super().enter(frame, parameters)
        self.column = self.given[0]
        if self.size:
            (kind,) = llvm_types(self.values)
            whole = ir.ArrayType(kind.pointee, self.size)
            self._array = self.make.bitcast(self.make.alloca(whole), kind)

    def loaded(self, row: Any) -> list[Any]:
        make = self.make
        if not self.size:
            return [load(make, self.place(row, j)) for j in range(len(self.values))]

        def element(j: Any) -> None:
            value = load(make, self.place(row, j))
            make.store(value, at(make, self._array, j))

        _each(make, self.size, element)
        return [self._array]

    def store(self, row: Any, values: Sequence[Any]) -> None:
        make = self.make
        if not self.size:
            for j, value in enumerate(values):
                store(make, value, self.place(row, j))
            return
        (array,) = values

        def element(j: Any) -> None:
            store(make, make.load(at(make, array, j)), self.place(row, j))

        _each(make, self.size, element)

    def element(self, start: Any, row: Any, k: Any, value: Any) -> None:
        store(self.make, value, self.place(self.make.add(start, row), k))

    def place(self, row: Any, k: Any) -> Any:
        """The address of a number of a row."""
        raise NotImplementedError


class _Column(_InMemory):
    """A column: the numbers of all rows follow each other."""

    def __init__(self, values: Sequence[Value], rows: int) -> None:
        super().__init__(values, rows)
        self.types += [INT] if self.size else []

    def place(self, row: Any, k: Any) -> Any:
        if self.size:
            column = INT(k) if isinstance(k, int) else k
            row = self.make.add(self.make.mul(column, self.given[1]), row)
        return at(self.make, self.column, row)

    def of_group(self, groups: Groups, start: Any) -> None:
        (value,) = self.values
        if self.size:
            groups.columns[value] = lambda k: self.place(start, k)
        else:
            groups.places[value] = self.place(start, 0)

    def places(self, start: Any) -> list[Any]:
        return [self.place(start, 0)]


class _Rows(_InMemory):
    """Rows: the numbers of a row follow each other. In groups of rows, they are turned into columns
    before, or back after."""

    def enter(self, frame: Frame, parameters: Iterator[Any]) -> None:
        super().enter(frame, parameters)
        self._width = self.size or len(self.values)
        is_turned = self.rows > 1 and not self.size
        self._turned = Turned(self.make, self.kind, self._width, self.rows) if is_turned else None

    def place(self, row: Any, k: Any) -> Any:
        make = self.make
        return at(make, at(make, self.column, make.mul(row, INT(self._width))), k)

    def prepare(self, start: Any) -> None:
        if self._turned is not None:
            self._turned.fill(self.place(start, 0))

    def complete(self, start: Any) -> None:
        if self._turned is not None:
            self._turned.copy_to(self.place(start, 0))

    def of_group(self, groups: Groups, start: Any) -> None:
        if self._turned is not None:
            groups.places.update(zip(self.values, self._columns(), strict=True))
            return
        (value,) = self.values
        read = groups.elements_read(value)
        if read is None:
            turned = Turned(self.make, self.kind, self.size, self.rows)
            turned.fill(self.place(start, 0))
            groups.columns[value] = turned.column
        else:
            columns = {k: self._gathered(start, k) for k in read}
            groups.columns[value] = columns.__getitem__

    def places(self, start: Any) -> list[Any]:
        return self._columns()

    def _columns(self) -> list[Any]:
        assert self._turned is not None
        return [self._turned.column(k) for k in range(self._width)]

    def _gathered(self, start: Any, k: int) -> Any:
        """A column of one element of the rows' arrays."""
        make = self.make
        column = Turned(make, self.kind, 1, self.rows).column(0)

        def copy(row: Any) -> None:
            number = make.load(self.place(make.add(start, row), k))
            make.store(number, at(make, column, row))

        count_up(make, INT(self.rows), 1, copy)
        return column


class _Sum(Access):
    """Totals over rows. In groups, numbers go to columns first, which are added up eight rows at a
    time."""

    def __init__(self, values: Sequence[Value], rows: int) -> None:
        super().__init__(values, rows)
        kind, first = self.types[0], values[0].type
        self.size = first.size if isinstance(first, ArrayType) else 0
        self.kind = kind.pointee if self.size else kind
        self.types = [self.kind.as_pointer()]

    def enter(self, frame: Frame, parameters: Iterator[Any]) -> None:
        super().enter(frame, parameters)
        if self.rows > 1:
            self._columns = Turned(self.make, self.kind, len(self.values), self.rows)

    def kept(self, value: Any, counts: Any) -> Any:
        return self.make.select(counts, value, ir.Constant(value.type, 0))

    def store(self, row: Any, values: Sequence[Any]) -> None:
        make = self.make
        if self.size:
            _each(make, self.size, lambda j: self._add(make.load(at(make, values[0], j)), j))
        else:
            for j, value in enumerate(values):
                self._add(value, j)

    def places(self, start: Any) -> list[Any]:
        return [self._columns.column(k) for k in range(len(self.values))]

    def complete(self, start: Any) -> None:
        if not self.size:
            _each(self.make, len(self.values), lambda k: self._add_up(self._columns.column(k), k))

    def element(self, start: Any, row: Any, k: Any, value: Any) -> None:
        store(self.make, value, at(self.make, self._columns.column(0), row))

    def element_done(self, k: Any) -> None:
        self._add_up(self._columns.column(0), k)

    def _add_up(self, column: Any, k: Any) -> None:
        """Adds the numbers of a column to a total."""
        make, kind = self.make, ir.VectorType(self.kind, PART).as_pointer()
        places = [make.bitcast(at(make, column, n), kind) for n in range(0, self.rows, PART)]
        align = size_in_memory(self.kind)
        eights = reduce(make.fadd, [make.load(place, align=align) for place in places])
        numbers = [make.extract_element(eights, INT(n)) for n in range(PART)]
        self._add(two_by_two(make.fadd, numbers), k)

    def _add(self, number: Any, j: Any) -> None:
        total = at(self.make, self.given[0], j)
        self.make.store(self.make.fadd(self.make.load(total), number), total)


_KINDS = {Layout.SHARED: Access, Layout.COLUMN: _Column, Layout.ROWS: _Rows, Layout.SUM: _Sum}


def _each(make: Any, size: int, body: Callable[[Any], None]) -> None:
    """Emits `body` for each element of an array; without a loop if they are few."""
    if size > MAX_ELEMENTS:
        count_up(make, INT(size), 1, body)
        return
    for k in range(size):
        body(INT(k))


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
