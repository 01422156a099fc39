"""Arrays of a group's rows as LLVM text. Each element is a column with a place for each row. An
operation on many elements is a loop over the elements, around one over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from llvmlite import ir

from ...ir.each_axes import combined_along_it, work_of_points
from ...ir.instructions import (
    LANES,
    Affine,
    Constant,
    Copy,
    Each,
    Element,
    For,
    Instruction,
    NewArray,
    Pop,
    Push,
    Put,
    Region,
    Value,
    While,
    every,
)
from ...passes.copying import used
from ..llvm.each import combined, two_by_two
from ..llvm.frame import INT, Frame, PythonFunctions, count_up
from ..llvm.guards import Guards, Stack
from ..llvm.types import at, in_memory, llvm_type
from ..llvm.work import work_of_group
from .group_sizes import GROUP, changed_by_branches, own_arrays
from .masks import RowEmitter
from .places import Places

MOST_IN_ROW = 2**6  # instructions, at most, of points that are computed together for each row

Finish = Callable[[RowEmitter, Any], None]
Numbers = dict[int, list[Any]]  # by the positions of the results that they are combined in
Total = Callable[[RowEmitter, Any, Numbers], None]


class GroupArrays(Places):
    """Emits operations on arrays of which each row has its own."""

    def __init__(
        self,
        frame: Frame,
        guards: Guards,
        region: Region,
        called: PythonFunctions,
        memory: Sequence[Any],
    ) -> None:
        """`memory` are the addresses of the `own_arrays` of the region."""
        super().__init__(frame, guards, called)
        self._block = region.block
        self._scratch: dict[tuple[str, int], Any] = {}
        for array, start in zip(own_arrays(region.block), memory, strict=True):
            self.columns[array] = partial(self._column, start)
        in_place = changed_by_branches(region.block)
        for made in every(region.block):
            for result in made.results:
                if result in in_place:
                    self.columns[result] = self.columns[in_place[result]]
            if isinstance(made, Constant):
                self.constants[made.result] = made.value
                self.shared[made.result] = ir.Constant(llvm_type(made.result.type), made.value)
            if isinstance(made, Constant | Affine):
                if self.in_range.issuperset(made.operands):
                    self.in_range.add(made.result)
            elif isinstance(made, Put):
                self.columns[made.result] = self.columns[made.array]
            elif isinstance(made, Each | While | For):
                self._take_over(made.initial, made.results)
                if isinstance(made, Each):
                    self.in_range.update(made.body.parameters)
                else:
                    self._take_over(made.initial, made.carried)
                if isinstance(made, While):
                    self._take_over(made.initial, made.condition.parameters)

    def _take_over(self, arrays: Sequence[Value], others: Sequence[Value]) -> None:
        """Gives `others` the memory of `arrays`."""
        for array, other in zip(arrays, others, strict=True):
            if array in self.columns:
                self.columns[other] = self.columns[array]

    def straight(
        self,
        instructions: Sequence[Instruction],
        mask: Any,
        reads: Sequence[Value] = (),
        finish: Finish | None = None,
    ) -> None:
        raise NotImplementedError

    def elements_read(self, array: Value) -> set[int] | None:
        """The elements that are read of an array that each row has; None where that isn't known."""
        read = [m for m in every(self._block) if isinstance(m, Element) and m.array is array]
        copied = any(isinstance(m, Copy) and m.array is array for m in every(self._block))
        if copied or any(made.place not in self.constants for made in read):
            return None
        return {self.constants[made.place] for made in read}

    def _column(self, start: Any, k: Any) -> Any:
        """The address of the places of an element."""
        make = self.builder
        return at(make, start, k * GROUP if isinstance(k, int) else make.mul(k, INT(GROUP)))

    def _scratch_of(self, kind: Any, k: int) -> Callable[[Any], Any]:
        """Temporary memory of `LANES` columns of numbers: one for each `k`."""
        key = str(kind), k
        if key not in self._scratch:
            with self.builder.goto_entry_block():
                whole = ir.ArrayType(in_memory(kind), LANES * GROUP)
                start = self.builder.alloca(whole)
                self._scratch[key] = self.builder.bitcast(start, whole.element.as_pointer())
        return partial(self._column, self._scratch[key])

    # ---- whole arrays ----------------------------------------------------------------------------

    def whole(self, made: NewArray | Copy | Each, mask: Any) -> None:
        """An operation on all elements, or for all points."""
        if isinstance(made, Each):
            self._each(made, mask)
            return
        if isinstance(made, Copy):
            self.copy_arrays([made.result], [made.array], mask)
            return

        def number(emitter: RowEmitter, k: Any, row: Any) -> Any:
            return emitter.read([made.number])[0]

        self._fill(made.result, mask, number, [made.number])

    def _fill(
        self,
        array: Value,
        mask: Any,
        number: Callable[[RowEmitter, Any, Any], Any],
        reads: Sequence[Value] = (),
    ) -> None:
        """Puts a number into each element of an array."""
        size = array.array_type.size
        self.guards.count(work_of_group(size))

        def element(k: Any) -> None:
            def put(emitter: RowEmitter, row: Any) -> None:
                emitter.keep(number(emitter, k, row), self.columns[array](k))

            self.straight((), mask, reads, put)

        count_up(self.builder, INT(size), 1, element)

    def copy_arrays(self, targets: Sequence[Value], arrays: Sequence[Value], mask: Any) -> None:
        """Copies arrays into others, which are elsewhere in memory or the same."""
        for target, array in zip(targets, arrays, strict=True):
            own = self.columns.get(array)
            if target not in self.columns or own is self.columns[target]:
                continue

            def number(
                emitter: RowEmitter, k: Any, row: Any, array: Value = array, own: Any = own
            ) -> Any:
                return self._element(array, own, k, row)

            self._fill(target, mask, number)

    def move_arrays(self, made: Push | Pop, mask: Any) -> None:
        """Copies the arrays of an entry to a stack, or from it."""
        entry, pops = self.entry(made), isinstance(made, Pop)
        for array in entry.arrays:
            self.guards.count(work_of_group(array.array_type.size))
            self._move(array, (entry.stack, entry.start), entry.place_of(array), mask, pops)

    def _move(
        self, array: Value, entry: tuple[Stack, Any], first: int, mask: Any, pops: bool
    ) -> None:
        kind, own = llvm_type(array.type).pointee, self.columns.get(array)

        def element(k: Any) -> None:
            number = self.builder.add(k, INT(first))

            def move(emitter: RowEmitter, row: Any) -> None:
                place = self.entry_place(entry, number, row, kind)
                if pops:
                    emitter.keep(self.load_entry(kind, place), self.columns[array](k))
                else:
                    self.store_entry(self._element(array, own, k, row), place)

            self.straight((), mask, (), move)

        count_up(self.builder, INT(array.array_type.size), 1, element)

    def _element(self, array: Value, own: Any, k: Any, row: Any) -> Any:
        """An element of an array that each row has, or that all share."""
        if own is not None:
            return self.load(own(k), row)
        return self.builder.load(at(self.builder, self.shared[array], k))

    # ---- each ------------------------------------------------------------------------------------

    def _each(self, made: Each, mask: Any) -> None:
        self.guards.count(work_of_group(work_of_points(made)))
        numbers = [k for k, (_, place) in enumerate(made.given) if place is None]
        for k in numbers:
            self.place_of(made.results[k])

        def begin(emitter: RowEmitter, row: Any) -> None:
            for k in numbers:
                value = emitter.read([made.initial[k]])[0]
                emitter.keep(value, self.places[made.results[k]])

        if numbers:
            self.straight((), mask, [made.initial[k] for k in numbers], begin)
        along, shape = combined_along_it(made), made.shape

        def axis(k: int) -> None:
            if k + 1 == len(shape) and (along or shape[k] <= LANES):
                self._line(made, mask)
                return

            def index(value: Any) -> None:
                self.shared[made.body.parameters[k]] = value
                if k + 1 < len(shape):
                    axis(k + 1)
                else:
                    self._points(made, mask, value, 1)

            count_up(self.builder, INT(shape[k]), 1, index)

        axis(0)

    def _points(
        self, made: Each, mask: Any, start: Any, count: int, finish: Total | None = None
    ) -> None:
        """Computes `count` adjacent points along the last axis, from `start` on; if the count is 0,
        one point whose numbers aren't combined. `finish` gets the numbers that are combined along
        the axis."""
        make, along = self.builder, combined_along_it(made)
        last = made.body.parameters[-1]

        def give(emitter: RowEmitter, row: Any) -> None:
            found: Numbers = {k: [] for k in along}
            for n in range(max(1, count)):
                emitter.values[last] = make.add(start, INT(n)) if n else start
                for each in made.body.instructions:
                    emitter.instruction(each)
                for k, (number, place) in enumerate(made.given if count else ()):
                    value = emitter.read([number])[0]
                    if k in found:
                        found[k].append(value)
                    else:
                        self._combine(emitter, made, k, value, place, row)
            if finish is not None:
                finish(emitter, row, found)

        outside = [value for value in used([made.body]) if value in self.places]
        self.straight((), mask, outside, give)

    def _line(self, made: Each, mask: Any) -> None:
        """The points along the last axis. Few of them are straight code, whose indices are known.
        Numbers that are combined there are so `LANES` at a time, as long as there are as many; then
        their results two by two; then the remaining numbers."""
        make, size = self.builder, made.shape[-1]
        whole = size - size % LANES

        def total(emitter: RowEmitter, row: Any, found: Numbers) -> None:
            for k, numbers in found.items():
                combine = partial(combined, emitter.frame, made.ways[k])
                lanes = lanes_of[k](row) if k in lanes_of else _lanes(combine, numbers[:whole])
                rest = numbers if k in lanes_of else numbers[whole:]
                first = [two_by_two(combine, lanes)] if lanes else []
                value = reduce(combine, [*first, *rest])
                self._combine(emitter, made, k, value, made.given[k][1], row)

        lanes_of: dict[int, Callable[[Any], list[Any]]] = {}
        if size <= LANES or size * len(made.body.instructions) <= MOST_IN_ROW:
            self._points(made, mask, INT(0), size, total)
            return
        columns = {
            k: self._scratch_of(llvm_type(made.given[k][0].type), n)
            for n, k in enumerate(combined_along_it(made))
        }

        def begin(emitter: RowEmitter, row: Any, found: Numbers) -> None:
            for k, numbers in found.items():
                for n, number in enumerate(numbers):
                    self.store(number, columns[k](n), row)

        def go_on(emitter: RowEmitter, row: Any, found: Numbers) -> None:
            for k, numbers in found.items():
                for n, number in enumerate(numbers):
                    old = self.load(columns[k](n), row)
                    value = combined(emitter.frame, made.ways[k], old, number)
                    self.store(value, columns[k](n), row)

        def eight(e: Any) -> None:
            start = make.mul(make.add(e, INT(1)), INT(LANES))
            self._points(made, mask, start, LANES, go_on)

        self._points(made, mask, INT(0), LANES, begin)
        count_up(make, INT(whole // LANES - 1), 1, eight)
        lanes_of.update({k: partial(self._loaded, column) for k, column in columns.items()})
        self._points(made, mask, INT(whole % size), size - whole, total)

    def _loaded(self, column: Callable[[Any], Any], row: Any) -> list[Any]:
        return [self.load(column(n), row) for n in range(LANES)]

    def _combine(
        self, emitter: RowEmitter, made: Each, k: int, value: Any, place: Value | None, row: Any
    ) -> None:
        """Combines a number with the current value of a result, in an array at a place."""
        if place is None:
            target = self.places[made.results[k]]
        else:
            target = emitter.element_place(made.initial[k], place)
        if made.ways[k] != "put":
            value = combined(emitter.frame, made.ways[k], self.load(target, row), value)
        emitter.keep(value, target)


def _lanes(combine: Callable[[Any, Any], Any], numbers: Sequence[Any]) -> list[Any]:
    """Numbers, combined `LANES` at a time."""
    eights = [numbers[k : k + LANES] for k in range(0, len(numbers), LANES)]
    return [reduce(combine, column) for column in zip(*eights, strict=True)]
