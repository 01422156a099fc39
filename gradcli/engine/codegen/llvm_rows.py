"""Regions on many rows as LLVM text: a loop over rows around the function of the region.

Each value has a column, in which that of each row follows the one of the row before, or is one
that all rows share. A region without loops of its own is computed for several rows at once, which
is LLVM's work: it finds that the iterations don't depend on each other. So that all rows have the
same bits, whatever their number, such a region runs on `CHUNK` rows each time. After as many, any
kernel asks whether to go on. Meanwhile other threads have Python's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ..ir.instructions import Region, Value, is_straight, size_of
from ..ir.types import ArrayType
from .llvm_arrays import release_arrays
from .llvm_frame import BYTE, INT, Frame, Kernel, PythonFunctions, count_up, python
from .llvm_groups import Groups
from .llvm_guards import Counts, Guards
from .llvm_kernels import functions_of
from .llvm_masks import RowEmitter
from .llvm_memory import in_memory, load, store
from .llvm_regions import RAISED, STEPPED_BACK, Called, attempt, ended, function_of
from .llvm_types import llvm_types
from .llvm_vectors import keep_versions
from .row_groups import CHUNK, GROUP, fits_groups
from .scalar_ops import NotNative

__all__ = ["NotNative", "RowsText", "rows_text"]

MAX_ELEMENTS = 16  # of arrays that are copied without a loop


class RowsText(NamedTuple):
    """The module of the function `kernel`, and of what the number of rows is a multiple. Its
    parameters are the number of rows; the address of a byte for each row, which is set where the
    region steps back; for each parameter of the region its column, or what rows share; and for each
    result its column. Columns are addresses. Behind that of an array, whose elements have a column
    each, stands how many numbers further the next column begins."""

    text: str
    multiple: int


def rows_text(region: Region, others: Sequence[Region], by_row: Sequence[bool]) -> RowsText:
    """A kernel that computes a region for many rows. `by_row` says which parameters have columns.
    Raises NotNative, also where it would call Python for each row."""
    module, called = ir.Module(), PythonFunctions()
    takes = [
        _Column(value) if each else _Shared(value)
        for value, each in zip(region.block.parameters, by_row, strict=True)
    ]
    gives = [_Column(value) for value in region.block.results]
    types = [kind for each in (*takes, *gives) for kind in each.types]
    types = [INT, BYTE.as_pointer(), *types]
    loop = function_of(module, "rows", types, [])
    if is_straight(region.block):
        multiple = CHUNK
    else:
        multiple = GROUP if fits_groups(region, by_row) else 1
    if multiple == GROUP:
        _group_loop(loop, region, takes, gives, called)
    else:
        in_chunks = multiple > 1
        functions = functions_of(
            module, (region, *others), called, unlocked=True, vectors=in_chunks
        )
        work_of_row = size_of(region.block) if in_chunks else 1  # others count their own
        _loop(loop, functions[region.name], takes, gives, CHUNK * work_of_row, in_chunks)
    if called:
        raise NotNative(f"`{called[0]}` is Python's")
    frame = Kernel(module)
    work, memory = frame.limits(len(types))
    guards = Guards(frame, Counts(ir.Constant(INT, 0), work, memory))
    guards.begin()
    given = frame.parameters(types)
    thread = python(frame.builder, "PyEval_SaveThread")
    status, _ = attempt(frame, guards, loop, given)
    python(frame.builder, "PyEval_RestoreThread", thread)
    frame.leave_if(ended(frame, status, RAISED), frame.raised)
    frame.leave_if(ended(frame, status, STEPPED_BACK), frame.step_back)
    frame.done([], lambda: release_arrays(frame))
    keep_versions(module)
    return RowsText(str(module), multiple)


class _Shared:
    """A parameter that is the same for all rows."""

    def __init__(self, value: Value) -> None:
        self.types = llvm_types([value])

    def enter(self, frame: Frame, parameters: Iterator[Any]) -> Callable[[Any], Any]:
        """What gives the value of a row, from the next of the parameters."""
        given = next(parameters)
        return lambda index: given

    def of_group(self, groups: Groups, value: Value, start: Any, parameters: Iterator[Any]) -> None:
        """Tells where the rows of a group find it."""
        groups.shared[value] = next(parameters)


class _Column:
    """A parameter or a result with a value for each row."""

    def __init__(self, value: Value) -> None:
        (self.kind,) = llvm_types([value])
        self.size = value.type.size if isinstance(value.type, ArrayType) else 0
        element = self.kind.pointee if self.size else self.kind
        column = in_memory(element).as_pointer()
        self.types = [column, INT] if self.size else [column]

    def enter(self, frame: Frame, parameters: Iterator[Any]) -> Callable[[Any], Any]:
        """What gives the value of a row, from the next of the parameters. That of an array is in
        memory, which the next row takes over."""
        make, column = frame.builder, next(parameters)
        if not self.size:
            return lambda index: load(make, make.gep(column, [index], inbounds=True))
        step, kind = next(parameters), ir.ArrayType(self.kind.pointee, self.size)
        array = make.bitcast(make.alloca(kind), self.kind)

        def copied(index: Any) -> Any:
            def element(k: Any) -> None:
                value = load(make, _place(make, column, index, k, step))
                make.store(value, make.gep(array, [k], inbounds=True))

            _each(make, self.size, element)
            return array

        return copied

    def of_group(self, groups: Groups, value: Value, start: Any, parameters: Iterator[Any]) -> None:
        """Tells where the rows of a group find it."""
        make, column = groups.builder, next(parameters)
        if not self.size:
            groups.places[value] = make.gep(column, [start], inbounds=True)
            return
        step = next(parameters)
        groups.columns[value] = lambda k: _place(make, column, start, ir.Constant(INT, k), step)

    def leave(self, frame: Frame, parameters: Iterator[Any]) -> Callable[[Any, Any], None]:
        """What puts the value of a row into the column."""
        make, column = frame.builder, next(parameters)
        if not self.size:
            return lambda index, value: store(make, value, make.gep(column, [index], inbounds=True))
        step = next(parameters)

        def copy(index: Any, array: Any) -> None:
            def element(k: Any) -> None:
                value = make.load(make.gep(array, [k], inbounds=True))
                store(make, value, _place(make, column, index, k, step))

            _each(make, self.size, element)

        return copy


def _place(make: Any, column: Any, index: Any, k: Any, step: Any) -> Any:
    """The place of an element of a row's array."""
    return make.gep(column, [make.add(make.mul(k, step), index)], inbounds=True)


def _each(make: Any, size: int, body: Callable[[Any], None]) -> None:
    """Emits something for each element of an array, without a loop where they are few."""
    if size > MAX_ELEMENTS:
        count_up(make, ir.Constant(INT, size), 1, body)
        return
    for k in range(size):
        body(ir.Constant(INT, k))


def _begun(function: Any) -> Called:
    """The frame of the function that goes over the rows: its columns are apart in memory."""
    function.attributes.add("noinline")
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    return Called(function)


def _group_loop(
    function: Any,
    region: Region,
    takes: Sequence[_Shared | _Column],
    gives: Sequence[_Column],
    called: PythonFunctions,
) -> None:
    """The function that goes over groups of rows."""
    frame = _begun(function)
    make, guards = frame.builder, Guards(frame, frame.left, unlocked=True)
    n, status, *rest = frame.parameters
    groups = Groups(frame, guards, region, called)

    def group(start: Any) -> None:
        parameters = iter(rest)
        groups.status = make.gep(status, [start], inbounds=True)
        for value, each in zip(region.block.parameters, takes, strict=True):
            each.of_group(groups, value, start, parameters)
        places = [make.gep(next(parameters), [start], inbounds=True) for _ in gives]

        def finish(emitter: RowEmitter, row: Any) -> None:
            results = emitter.read(region.block.results)
            for place, value in zip(places, results, strict=True):
                groups.store(value, place, row)

        guards.count(GROUP * size_of(region.block) // 4)
        groups.run(region.block, None, region.block.results, finish)

    count_up(make, n, GROUP, group)
    frame.done([], guards.release, guards.counts)


def _loop(
    function: Any,
    row: Any,
    takes: Sequence[_Shared | _Column],
    gives: Sequence[_Column],
    work: int,
    in_chunks: bool,
) -> None:
    """The function that goes over the rows. `row` computes one; a chunk of them counts as some
    work."""
    frame = _begun(function)
    make, guards = frame.builder, Guards(frame, frame.left, unlocked=True)
    n, status, *rest = frame.parameters
    parameters = iter(rest)
    loads = [each.enter(frame, parameters) for each in takes]
    stores = [each.leave(frame, parameters) for each in gives]

    def each(index: Any) -> None:
        before = guards.counts()
        end, found = attempt(frame, guards, row, [load(index) for load in loads])
        if in_chunks:  # without branches, and nothing carried on
            guards.set_counts(before)
            stepped_back = make.zext(ended(frame, end, STEPPED_BACK), BYTE)
            make.store(stepped_back, make.gep(status, [index], inbounds=True))
            for store, value in zip(stores, found, strict=True):
                store(index, value)
            return
        frame.leave_if(ended(frame, end, RAISED), frame.raised)
        with make.if_else(ended(frame, end, STEPPED_BACK), likely=False) as (back, done):
            with back:
                make.store(BYTE(1), make.gep(status, [index], inbounds=True))
            with done:
                for store, value in zip(stores, found, strict=True):
                    store(index, value)
        release_arrays(frame)

    chunk = ir.Constant(INT, CHUNK)

    def some(start: Any) -> None:
        guards.count(work)
        rest = make.sub(n, start)
        few = make.icmp_signed("<", rest, chunk)
        count = chunk if in_chunks else make.select(few, rest, chunk)
        count_up(make, count, 1, lambda k: each(make.add(start, k)))

    count_up(make, n, CHUNK, some)
    frame.done([], guards.release, guards.counts)
