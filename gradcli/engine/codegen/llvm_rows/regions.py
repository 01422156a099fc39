"""Regions on many rows as LLVM text: a loop over rows around the function of the region.

A value has a column, with the values of all rows one after the other, or is one that all rows
share. Most regions run on groups of `GROUP` rows, which LLVM computes several at a time; a last
group is filled up, so that all rows have the same bits, whatever their number. Regions that don't
fit groups run row by row. After a group, or `POLLED` rows, the kernel may poll for signals.
Meanwhile other threads have Python's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from llvmlite import ir

from ...ir.instructions import Region, size_of
from ..llvm.arrays import Arrays, release_arrays
from ..llvm.frame import (
    BYTE,
    INT,
    RAISED,
    STEPPED_BACK,
    KernelFrame,
    PythonFunctions,
    count_up,
    python,
)
from ..llvm.guards import INTERVAL, Counts, Guards
from ..llvm.kernels import functions_of
from ..llvm.regions import Called, attempt, ended, function_of
from ..llvm.types import llvm_type
from ..llvm.vectors import keep_versions
from ..llvm.work import work_of_group
from ..scalars import NotNative
from .columns import Access, accesses_of
from .group_sizes import GROUP, fits_groups, own_arrays
from .groups import Groups
from .layout import Layout, Placement
from .masks import RowEmitter

POLLED = 256  # rows that are counted together


class RowsText(NamedTuple):
    """The module of the function `kernel`, and the number of which the number of rows is a
    multiple. The parameters of the function are: the number of rows; the number of those that count
    in sums, the first ones; the address of a byte for each row, which is set where the region steps
    back; and then the parameters and the results of the region, as `Placement` says."""

    text: str
    multiple: int


def rows_text(
    region: Region, others: Sequence[Region], takes: Sequence[Placement], gives: Sequence[Placement]
) -> RowsText:
    """A kernel that computes a region for many rows. `takes` and `gives` say how its parameters and
    results are held. Raises NotNative, also where it would call Python for each row."""
    module, called = ir.Module(), PythonFunctions()
    by_row = [each.layout is not Layout.SHARED for each in takes for _ in range(each.width)]
    in_groups = fits_groups(region, by_row)
    multiple = GROUP if in_groups else 1
    given = accesses_of(region.block.parameters, takes, multiple)
    found = accesses_of(region.block.results, gives, multiple)
    held = [kind for each in (*given, *found) for kind in each.types]
    types = [INT, INT, BYTE.as_pointer(), *held]
    arrays = [value.array_type for value in own_arrays(region.block)] if in_groups else []
    places = list(map(llvm_type, arrays))
    loop = function_of(module, "rows", [*types, *places], [])
    if in_groups:
        _group_loop(loop, region, given, found, called)
    else:
        functions = functions_of(module, (region, *others), called, unlocked=True)
        _loop(loop, functions[region.name], given, found)
    if called:
        raise NotNative(f"`{called[0]}` is not compiled on rows")
    frame = KernelFrame(module)
    guards = Guards(frame, Counts(INT(INTERVAL), frame.limit(len(types))))
    parameters, made = frame.parameters(types), Arrays(frame, guards)
    for kind, array in zip(places, arrays, strict=True):
        parameters.append(made.new(kind, array.size * GROUP))
    thread = python(frame.builder, "PyEval_SaveThread")
    status, _ = attempt(frame, guards, loop, parameters)
    python(frame.builder, "PyEval_RestoreThread", thread)
    frame.leave_as(status)
    frame.done([], lambda: release_arrays(frame))
    keep_versions(module)
    return RowsText(str(module), multiple)


class _Rows(NamedTuple):
    """The beginning of the function that loops over the rows.

    n        the number of rows
    counted  the number of the first rows, which count in sums
    status   the address of the bytes that say how the rows end
    rest     its other parameters
    """

    frame: Called
    guards: Guards
    n: Any
    counted: Any
    status: Any
    rest: Sequence[Any]


def _begun(function: Any, parts: Sequence[Access]) -> _Rows:
    """Begins the function that loops over the rows, whose columns are apart in memory."""
    function.attributes.add("noinline")
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    frame = Called(function)
    guards = Guards(frame, frame.left, unlocked=True)
    n, counted, status, *rest = frame.parameters
    parameters = iter(rest)
    for each in parts:
        each.enter(frame, parameters)
    return _Rows(frame, guards, n, counted, status, [*parameters])


def _group_loop(
    function: Any,
    region: Region,
    takes: Sequence[Access],
    gives: Sequence[Access],
    called: PythonFunctions,
) -> None:
    """The function that loops over groups of rows."""
    rows = _begun(function, (*takes, *gives))
    frame, guards, make = rows.frame, rows.guards, rows.frame.builder
    groups = Groups(frame, guards, region, called, rows.rest)
    numbers = [each for each in gives if not each.size]
    arrays = [each for each in gives if each.size]
    results = [value for each in numbers for value in each.values]

    def group(start: Any) -> None:
        groups.status = make.gep(rows.status, [start], inbounds=True)
        groups.left, after = make.append_basic_block(), make.append_basic_block()
        for each in takes:
            each.prepare(start)
            each.of_group(groups, start)
        places = [(each, place) for each in numbers for place in each.places(start)]

        def counts(row: Any, is_good: Any) -> Any:
            return make.and_(make.icmp_signed("<", make.add(start, row), rows.counted), is_good)

        def finish(emitter: RowEmitter, row: Any) -> None:
            in_sums = counts(row, emitter.is_good())
            for (each, place), value in zip(places, emitter.read(results), strict=True):
                groups.store(each.kept(value, in_sums), place, row)

        guards.count(work_of_group(size_of(region.block)))
        groups.run(region.block, None, results, finish)
        for each in arrays:
            columns = groups.columns[each.values[0]]

            def element(k: Any, each: Access = each, columns: Any = columns) -> None:
                def keep(row: Any) -> None:
                    is_good = make.not_(groups.has_stepped_back(row))
                    value = groups.load(columns(k), row)
                    each.element(start, row, k, each.kept(value, counts(row, is_good)))

                groups.rows(keep)
                each.element_done(k)

            count_up(make, INT(each.size), 1, element)
        for each in gives:
            each.complete(start)
        make.branch(after)
        make.position_at_end(groups.left)
        bits = ir.ArrayType(BYTE, GROUP)
        place = make.bitcast(groups.status, bits.as_pointer())
        make.store(ir.Constant(bits, [1] * GROUP), place, align=1)
        make.branch(after)
        make.position_at_end(after)

    count_up(make, rows.n, GROUP, group)
    frame.done([], guards.release, guards.counts)


def _loop(function: Any, row: Any, takes: Sequence[Access], gives: Sequence[Access]) -> None:
    """The function that loops over the rows. `row` computes one, and counts its work."""
    rows = _begun(function, (*takes, *gives))
    frame, guards, make = rows.frame, rows.guards, rows.frame.builder

    def one(index: Any) -> None:
        end, found = attempt(
            frame, guards, row, [value for each in takes for value in each.loaded(index)]
        )

        values = iter(found)
        frame.leave_if(ended(frame, end, RAISED), frame.raised)
        with make.if_else(ended(frame, end, STEPPED_BACK), likely=False) as (back, done):
            with back:
                make.store(BYTE(1), make.gep(rows.status, [index], inbounds=True))
            with done:
                for each in gives:
                    each.store(index, [*islice(values, len(each.values))])
        release_arrays(frame)

    def some(start: Any) -> None:
        guards.count(POLLED)
        left, count = make.sub(rows.n, start), INT(POLLED)
        count = make.select(make.icmp_signed("<", left, count), left, count)
        count_up(make, count, 1, lambda k: one(make.add(start, k)))

    count_up(make, rows.n, POLLED, some)
    frame.done([], guards.release, guards.counts)
