"""Calls of `vmap(f)` as kernels on rows: see `hot_calls.py`.

The function is lowered for what one row hands it, and for all that it captured, which the rows
share. Where a row steps back, or anything is traced, the interpreter makes the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...diagnostics import Span
from ..backends.backend import CPU
from ..backends.tiers import policy
from ..codegen.columns import stacked
from ..ir.instructions import size_of
from ..ir.types import Scalar
from ..kernels.transposing import contiguous, put
from ..passes.rules import NoRule
from ..regions.entries import parameters_of
from ..regions.frame_calls import lower_call
from ..regions.kinds import ArrayOf, Kind, ListOf, RecordOf, StoredOf
from ..regions.names import NotCompiled
from ..values.kinds import List, Transform, leaves, map_structure, read
from .frame_entries import Observed, observe_values
from .plan import MISS
from .region_calls import RegionCall
from .region_values import given
from .variants import Variants

if TYPE_CHECKING:
    from ..codegen.rows import RowsKernel

NUMBERS = 2**18  # of the arguments in rows that are computed together, about
LEAST, MOST = 2**12, 2**16  # such rows


class Argument(NamedTuple):
    """An argument whose rows are along an axis; None for one that all rows share."""

    value: Any
    axis: int | None

    @property
    def first(self) -> Any:
        """What the first row is given."""
        if self.axis is None:
            return self.value
        row = CPU.xp.take(self.value, 0, self.axis)
        return row if row.ndim else row.item()

    def columns(self, start: int, stop: int) -> Any:
        """Some rows, which are the last axis."""
        rows = CPU.xp.moveaxis(self.value, self.axis, 0)[start:stop]
        flat = rows.reshape(len(rows), -1)
        turned = contiguous(CPU.xp, flat.T)
        return turned.reshape((*rows.shape[1:], len(rows)))


class MappedCalls:
    """What makes the calls of `vmap(f)` at a place."""

    def __init__(self, span: Span) -> None:
        self._numbers = self._work = 0  # that were given, and operations on rows
        self._rows = 0  # of the last call
        self._calls = Variants(lambda observed, how: MappedCall(observed, how[0], how[1], span))

    def run(self, function: Transform, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The result of a call; MISS if the interpreter must make it."""
        found = _arguments(function, arguments, named)
        n = None if found is None else _rows(found)
        if found is None or not n or not policy().compiles:
            return MISS
        numbers = sum([each.value.size for each in found if each.axis is not None])
        self._numbers, self._rows = self._numbers + numbers, n
        if self._numbers < policy().heat.elements and self._work < policy().heat.operations:
            return MISS
        observed = observe_values([function.function, *[each.first for each in found]])
        if observed.is_boxed:
            return MISS
        by_row = tuple([each.axis is not None for each in found])
        call = self._calls.of(observed, (by_row, tuple(named)))
        work = self._work + self._numbers * (0 if call is None else call.size)
        if call is None or work < policy().heat.operations:
            return MISS
        tile = min(MOST, max(LEAST, NUMBERS * n // numbers))
        result = call.run(n, tile, [given(value) for value in observed.values], found)
        if result is MISS:
            self._numbers = self._work = 0  # so that it isn't tried again soon
        return result

    def learn(self, operations: int) -> None:
        """Takes note of a call that the interpreter made, with so many operations on all rows."""
        self._work += operations * self._rows


class MappedCall:
    """What makes calls for rows of one kind.

    size  how many instructions its region has
    """

    def __init__(
        self, observed: Observed, by_row: Sequence[bool], names: Sequence[str], span: Span
    ) -> None:
        """Raises NotCompiled."""
        function, *arguments = observed.entries.values()
        first = len(arguments) - len(names)
        named = dict(zip(names, arguments[first:], strict=True))
        lowered = lower_call(function, arguments[:first], named, span, in_memory=False)
        self._kind = lowered.kind
        if not _has_rows(self._kind):
            raise NotCompiled("what this call gives has no rows", span)
        self._by_row = [False for _ in parameters_of(function)]
        for entry, varies in zip(arguments, by_row, strict=True):
            self._by_row += [varies] * len([*parameters_of(entry)])
        try:
            self._call = RegionCall(lowered.region, lowered.regions)
        except NoRule as reason:
            raise NotCompiled(str(reason), span) from None
        self.size = size_of(self._call.region.block)
        self._kernel: RowsKernel | None = None

    def run(self, n: int, tile: int, values: Sequence[Any], arguments: Sequence[Argument]) -> Any:
        """The result for `n` rows, of which `tile` are computed together; MISS where a row steps
        back. `values` are what all rows share, in the places of these."""
        if self._kernel is None:
            self._kernel = self._call.on_rows(self._by_row)
            if self._kernel is None:
                return MISS
        whole: list[Any] = []
        structure: Any = None
        for start in range(0, n, tile):
            stop = min(start + tile, n)
            columns = iter([a.columns(start, stop) for a in arguments if a.axis is not None])
            given = [
                next(columns) if varies else value
                for value, varies in zip(values, self._by_row, strict=True)
            ]
            found, stepped_back = self._kernel.run(stop - start, given)
            if stepped_back.any():
                return MISS
            structure = _held(self._kind, iter(found), stop - start)
            parts = [*leaves(structure)]
            whole = whole or [CPU.xp.empty((n, *part.shape[:-1]), part.dtype) for part in parts]
            for array, part in zip(whole, parts, strict=True):
                put(array[start:stop], CPU.xp.moveaxis(part, -1, 0))
        results = iter(whole)
        return map_structure(lambda part: next(results), structure)


def _arguments(
    function: Transform, arguments: Sequence[Any], named: Mapping[str, Any]
) -> list[Argument] | None:
    """The arguments with the axes of their rows; None where one isn't an array or has no such
    axis."""
    axes = function.in_axes if isinstance(function.in_axes, list) else None
    axes = [function.in_axes] * len(arguments) if axes is None else axes
    if len(axes) != len(arguments):
        return None
    found = [
        Argument(value if axis is None else read(value), axis)
        for value, axis in zip(
            [*arguments, *named.values()], [*axes, *[0] * len(named)], strict=True
        )
    ]
    fits = [
        each.axis is None
        or (type(each.value) is CPU.ndarray and -each.value.ndim <= each.axis < each.value.ndim)
        for each in found
    ]
    return found if all(fits) else None


def _rows(arguments: Sequence[Argument]) -> int:
    """How many rows there are; 0 where arguments differ in that, or have none."""
    sizes = {each.value.shape[each.axis] for each in arguments if each.axis is not None}
    return int(sizes.pop()) if len(sizes) == 1 else 0


def _has_rows(kind: Kind) -> bool:
    """Whether what is of a kind is numbers and arrays, and lists and dicts of these."""
    if isinstance(kind, ListOf | RecordOf):
        return bool(kind.items) and all(map(_has_rows, kind.items))
    return isinstance(kind, Scalar | ArrayOf) or (isinstance(kind, StoredOf) and not kind.listed)


def _held(kind: Kind, columns: Iterator[Any], n: int) -> Any:
    """What is of a kind, of the next columns; arrays have the rows last."""
    if isinstance(kind, ListOf):
        return List([_held(item, columns, n) for item in kind.items])
    if isinstance(kind, RecordOf):
        return {
            key: _held(item, columns, n) for key, item in zip(kind.keys, kind.items, strict=True)
        }
    if isinstance(kind, ArrayOf):
        parts = [_column(each, n) for each in islice(columns, prod(kind.shape))]
        return stacked(parts).reshape((*kind.shape, n))
    return _column(next(columns), n)


def _column(value: Any, n: int) -> Any:
    return value if type(value) is CPU.ndarray else CPU.xp.full(n, value)
