"""Regions on many rows as LLVM text: a loop over rows around the function of the region.

Each value has a column, in which that of each row follows the one of the row before, or is one
that all rows share. A region without loops of its own is computed for several rows at once, which
is LLVM's work: it finds that the iterations don't depend on each other. So that all rows have the
same bits, whatever their number, such a region runs on `CHUNK` rows each time. After as many, any
kernel asks whether to go on. Meanwhile other threads have Python's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from llvmlite import ir

from ..ir.instructions import Region, is_straight, size_of
from .columns import Held, Layout
from .llvm_arrays import release_arrays
from .llvm_columns import Part, parts_of
from .llvm_frame import BYTE, INT, Kernel, PythonFunctions, count_up, python
from .llvm_groups import Groups
from .llvm_guards import Counts, Guards
from .llvm_kernels import functions_of
from .llvm_masks import RowEmitter
from .llvm_regions import RAISED, STEPPED_BACK, Called, attempt, ended, function_of
from .llvm_vectors import keep_versions
from .row_groups import CHUNK, GROUP, PART, fits_groups
from .scalar_ops import NotNative

MOST_TURNED = 2**14  # numbers that are turned at a time, which are on C's stack meanwhile


class RowsText(NamedTuple):
    """The module of the function `kernel`, and of what the number of rows is a multiple. Its
    parameters are the number of rows; the address of a byte for each row, which is set where the
    region steps back; and then what is as `Held` says, first what the region takes."""

    text: str
    multiple: int


def rows_text(
    region: Region, others: Sequence[Region], takes: Sequence[Held], gives: Sequence[Held]
) -> RowsText:
    """A kernel that computes a region for many rows, whose parameters and results are held in some
    way. Raises NotNative, also where it would call Python for each row."""
    module, called = ir.Module(), PythonFunctions()
    multiple = _multiple(region, takes, gives)
    given = parts_of(region.block.parameters, takes, multiple)
    found = parts_of(region.block.results, gives, multiple)
    types = [INT, BYTE.as_pointer(), *[kind for each in (*given, *found) for kind in each.types]]
    loop = function_of(module, "rows", types, [])
    if multiple > 1 and not is_straight(region.block):
        _group_loop(loop, region, given, found, called)
    else:
        functions = functions_of(
            module, (region, *others), called, unlocked=True, vectors=multiple > 1
        )
        _loop(loop, functions[region.name], region, given, found, multiple)
    if called:
        raise NotNative(f"`{called[0]}` is Python's")
    frame = Kernel(module)
    work, memory = frame.limits(len(types))
    guards = Guards(frame, Counts(ir.Constant(INT, 0), work, memory))
    guards.begin()
    parameters = frame.parameters(types)
    thread = python(frame.builder, "PyEval_SaveThread")
    status, _ = attempt(frame, guards, loop, parameters)
    python(frame.builder, "PyEval_RestoreThread", thread)
    frame.leave_if(ended(frame, status, RAISED), frame.raised)
    frame.leave_if(ended(frame, status, STEPPED_BACK), frame.step_back)
    frame.done([], lambda: release_arrays(frame))
    keep_versions(module)
    return RowsText(str(module), multiple)


def _multiple(region: Region, takes: Sequence[Held], gives: Sequence[Held]) -> int:
    """How many rows are computed together."""
    by_row = [each.layout is not Layout.SHARED for each in takes for _ in range(each.width)]
    if not is_straight(region.block):
        return GROUP if fits_groups(region, by_row) else 1
    turned = sum([each.width for each in (*takes, *gives) if each.layout is Layout.ROWS])
    rows = CHUNK
    while rows > PART and turned * rows > MOST_TURNED:
        rows //= 2
    return rows


def _begun(function: Any, parts: Sequence[Part]) -> tuple[Called, Guards, Any, Any]:
    """The frame of the function that goes over the rows, whose columns are apart in memory; its
    guards; the number of rows, and the address of what says how they end."""
    function.attributes.add("noinline")
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    frame = Called(function)
    guards = Guards(frame, frame.left, unlocked=True)
    n, status, *rest = frame.parameters
    parameters = iter(rest)
    for each in parts:
        each.enter(frame, parameters)
    return frame, guards, n, status


def _group_loop(
    function: Any,
    region: Region,
    takes: Sequence[Part],
    gives: Sequence[Part],
    called: PythonFunctions,
) -> None:
    """The function that goes over groups of rows."""
    frame, guards, n, status = _begun(function, (*takes, *gives))
    make, groups = frame.builder, Groups(frame, guards, region, called)

    def group(start: Any) -> None:
        groups.status = make.gep(status, [start], inbounds=True)
        for each in takes:
            each.take(start)
            each.of_group(groups, start)
        places = [place for each in gives for place in each.places(start)]

        def finish(emitter: RowEmitter, row: Any) -> None:
            results = emitter.read(region.block.results)
            for place, value in zip(places, results, strict=True):
                groups.store(value, place, row)

        guards.count(GROUP * size_of(region.block) // 4)
        groups.run(region.block, None, region.block.results, finish)
        for each in gives:
            each.give(start)

    count_up(make, n, GROUP, group)
    frame.done([], guards.release, guards.counts)


def _loop(
    function: Any,
    row: Any,
    region: Region,
    takes: Sequence[Part],
    gives: Sequence[Part],
    multiple: int,
) -> None:
    """The function that goes over the rows. `row` computes one."""
    frame, guards, n, status = _begun(function, (*takes, *gives))
    make, together = frame.builder, multiple > 1

    def one(start: Any, k: Any) -> None:
        before, index = guards.counts(), make.add(start, k)
        end, found = attempt(
            frame, guards, row, [value for each in takes for value in each.loaded(start, k)]
        )

        def keep() -> None:
            values = iter(found)
            for each in gives:
                each.store(start, k, [*islice(values, len(each.values))])

        if together:  # without branches, and nothing carried on
            guards.set_counts(before)
            stepped_back = make.zext(ended(frame, end, STEPPED_BACK), BYTE)
            make.store(stepped_back, make.gep(status, [index], inbounds=True))
            keep()
            return
        frame.leave_if(ended(frame, end, RAISED), frame.raised)
        with make.if_else(ended(frame, end, STEPPED_BACK), likely=False) as (back, done):
            with back:
                make.store(BYTE(1), make.gep(status, [index], inbounds=True))
            with done:
                keep()
        release_arrays(frame)

    rows = multiple if together else CHUNK

    def some(start: Any) -> None:
        guards.count(rows * (size_of(region.block) if together else 1))  # others count their own
        for each in takes:
            each.take(start)
        left, count = make.sub(n, start), ir.Constant(INT, rows)
        if not together:
            count = make.select(make.icmp_signed("<", left, count), left, count)
        count_up(make, count, 1, lambda k: one(start, k))
        for each in gives:
            each.give(start)

    count_up(make, n, rows, some)
    frame.done([], guards.release, guards.counts)
