"""Regions on many rows as LLVM text: a loop over rows around the function of the region.

Each value has a column, in which that of each row follows the one of the row before, or is one
that all rows share. A region without loops of its own is computed for several rows at once, which
is LLVM's work: it finds that the iterations don't depend on each other. So that all rows have the
same bits, whatever their number, such a region runs on `CHUNK` rows each time. Meanwhile other
threads have Python's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ..ir.instructions import Region, size_of
from .llvm_arrays import release_arrays
from .llvm_blocks import NotNative, functions_of, is_straight, llvm_types
from .llvm_frame import BIT, BYTE, INT, Kernel, python
from .llvm_guards import Counts, Guards
from .llvm_regions import RAISED, STEPPED_BACK, Called, attempt, ended, function_of
from .llvm_vectors import keep_versions

__all__ = ["CHUNK", "NotNative", "RowsText", "rows_text"]

CHUNK = 256  # rows after which the kernel asks whether to go on


class RowsText(NamedTuple):
    """The module of the function `kernel`, and whether it needs a multiple of `CHUNK` rows. Its
    parameters are the number of rows; the address of a byte for each row, which is set where the
    region steps back; the columns of the region's parameters, or what rows share; and the columns
    of its results. Columns are addresses."""

    text: str
    in_chunks: bool


def rows_text(region: Region, others: Sequence[Region], by_row: Sequence[bool]) -> RowsText:
    """A kernel that computes a region for many rows. `by_row` says which parameters have columns.
    Raises NotNative, also where it would call Python for each row."""
    module, called = ir.Module(), list[str]()
    in_chunks = is_straight(region.block)
    functions = functions_of(module, (region, *others), called, unlocked=True, vectors=in_chunks)
    if called:
        raise NotNative(f"`{called[0]}` is Python's")
    takes, gives = llvm_types(region.block.parameters), llvm_types(region.block.results)
    columns = [_column(kind) if each else kind for kind, each in zip(takes, by_row, strict=True)]
    types = [INT, BYTE.as_pointer(), *columns, *map(_column, gives)]
    loop = function_of(module, "rows", types, [])
    work_of_row = size_of(region.block) if in_chunks else 1  # others count their own
    _loop(loop, functions[region.name], by_row, in_chunks, work_of_row)
    frame = Kernel(module)
    work, memory = frame.limits(len(types))
    guards = Guards(frame, Counts(ir.Constant(INT, 0), work, memory))
    guards.begin()
    given = frame.parameters(types)
    thread = python(frame.builder, "PyEval_SaveThread")
    status, _ = attempt(frame, guards, loop, given)
    python(frame.builder, "PyEval_RestoreThread", thread)
    frame.leave_if(ended(frame, status, RAISED), frame.raised)
    frame.done([], lambda: release_arrays(frame))
    keep_versions(module)
    return RowsText(str(module), in_chunks)


def _column(kind: Any) -> Any:
    if isinstance(kind, ir.PointerType):
        raise NotNative("rows of arrays have no machine code")
    return (BYTE if kind == BIT else kind).as_pointer()


def _loop(function: Any, row: Any, by_row: Sequence[bool], in_chunks: bool, work: int) -> None:
    """The function that goes over the rows. `row` computes one, which counts as some work."""
    function.attributes.add("noinline")
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    frame = Called(function)
    make, guards = frame.builder, Guards(frame, frame.left, unlocked=True)
    n, status, *places = frame.parameters
    takes, gives = places[: len(by_row)], places[len(by_row) :]

    def each(index: Any) -> None:
        def place(column: Any) -> Any:
            return make.gep(column, [index], inbounds=True)

        given = [
            _loaded(make, place(value)) if varies else value
            for value, varies in zip(takes, by_row, strict=True)
        ]
        end, found = attempt(frame, guards, row, given)
        frame.leave_if(ended(frame, end, RAISED), frame.raised)
        with make.if_else(ended(frame, end, STEPPED_BACK), likely=False) as (back, done):
            with back:
                make.store(BYTE(1), place(status))
                release_arrays(frame)
            with done:
                for column, value in zip(gives, found, strict=True):
                    stored = make.zext(value, BYTE) if value.type == BIT else value
                    make.store(stored, place(column))

    chunk = ir.Constant(INT, CHUNK)

    def some(start: Any) -> None:
        guards.count(CHUNK * work)
        rest = make.sub(n, start)
        few = make.icmp_signed("<", rest, chunk)
        count = chunk if in_chunks else make.select(few, rest, chunk)
        _count_up(make, count, 1, lambda k: each(make.add(start, k)))

    _count_up(make, n, CHUNK, some)
    frame.done([], guards.release, guards.counts)


def _loaded(make: Any, place: Any) -> Any:
    value = make.load(place)
    return make.trunc(value, BIT) if value.type == BYTE else value


def _count_up(make: Any, end: Any, step: int, body: Any) -> None:
    """Emits a loop from 0 up to an end."""
    before, (head, inside, after) = make.block, [make.append_basic_block() for _ in range(3)]
    make.branch(head)
    make.position_at_end(head)
    index = make.phi(INT)
    index.add_incoming(ir.Constant(INT, 0), before)
    make.cbranch(make.icmp_signed("<", index, end), inside, after)
    make.position_at_end(inside)
    body(index)
    index.add_incoming(make.add(index, ir.Constant(INT, step)), make.block)
    make.branch(head)
    make.position_at_end(after)
