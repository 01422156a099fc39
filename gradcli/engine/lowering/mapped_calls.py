"""Calls of `vmap(f)` as kernels on rows: see `hot_calls.py`.

The function is lowered for the arguments of one row, and for what it has captured, which the rows
share. On traced values a call is one record. Where a row steps back, the interpreter makes the
whole call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...ops import OPS
from ..backends.backend import CPU
from ..backends.tiers import policy
from ..codegen.step_back import StepBack
from ..ir.types import Scalar
from ..operations.apply import apply
from ..passes.rules import NoRule
from ..regions.entries import parameters_of
from ..regions.frame_calls import lower_call
from ..regions.kinds import Kind, ListOf, RecordOf, StoredOf
from ..regions.names import NotCompiled
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import UNBOXED, level_of, primal
from ..values.kinds import UNSET, Transform, read
from .frame_entries import Observed, is_array, observe_values
from .mapped_regions import MAPPED, MappedRegion, work_of_row
from .region_values import as_parameter, held_of
from .variants import Variants

MOVE_AXIS = OPS["moveaxis"]


class Argument(NamedTuple):
    """An argument, and the axis of its rows; None if all rows share it."""

    value: Any
    axis: int | None

    @property
    def first(self) -> Any:
        """The first row, without boxes."""
        if self.axis is None:
            return self.value
        row = CPU.xp.take(primal(self.value), 0, self.axis)
        return CPU.settle(row)

    def in_rows(self, run: Run, site: Site) -> Any:
        """The value, with its rows along the first axis."""
        if not self.axis:
            return self.value
        if level_of(self.value) == UNBOXED:
            return CPU.xp.moveaxis(self.value, self.axis, 0)
        options = {"source": self.axis, "destination": 0}
        return apply(run, site.in_derivative(MOVE_AXIS), (self.value,), options)


class MappedCalls:
    """Makes the calls of `vmap(f)` at a place by kernels, for values of any kinds."""

    def __init__(self, span: Span) -> None:
        self._site = Site(MAPPED, span)
        self._numbers = self._work = 0  # of all arguments so far, and operations on them
        self._rows = 0  # of the last call
        self._calls = Variants(lambda observed, how, _: MappedCall(observed, how[0], how[1], span))

    def run(
        self, run: Run, function: Transform, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """The result of a call; UNSET if the interpreter must make it."""
        found = _arguments(function, arguments, named)
        n = None if found is None else _rows(found)
        if found is None or not n or not policy().compiles:
            return UNSET
        numbers = sum([primal(each.value).size for each in found if each.axis is not None])
        self._numbers, self._rows = self._numbers + numbers, n
        if self._numbers < policy().heat.elements and self._work < policy().heat.operations:
            return UNSET
        observed = observe_values(run, [function.function, *[each.first for each in found]])
        is_boxed = observed.is_boxed or any(level_of(each.value) != UNBOXED for each in found)
        if is_boxed and not run.rows_as_one:
            return UNSET
        by_row = tuple([each.axis is not None for each in found])
        call = self._calls.of(observed, (by_row, tuple(named)))
        assert not isinstance(call, int)
        work = self._work + self._numbers * (0 if call is None else call.work)
        if call is None or work < policy().heat.operations:
            return UNSET
        if is_boxed and not (run.one_record or call.tells_reads):
            return UNSET
        rows = [each.in_rows(run, self._site) for each in found if each.axis is not None]
        try:
            return call.run(run, self._site, list(map(as_parameter, observed.values)), rows)
        except (StepBack, NoRule):
            self._numbers = self._work = 0  # so that it isn't tried again soon
            return UNSET

    def learn(self, operations: int) -> None:
        """Notes a call that the interpreter made, with so many operations on all rows."""
        self._work += operations * self._rows


class MappedCall:
    """Makes the calls for rows of one kind.

    work         about how many instructions a row takes
    tells_reads  whether its record tells what each element depends on
    """

    cost = 0  # `MappedCalls` weighs it instead, by rows

    def __init__(
        self, observed: Observed, by_row: Sequence[bool], names: Sequence[str], span: Span
    ) -> None:
        """Raises NotCompiled."""
        function, *arguments = observed.entries.values()
        first = len(arguments) - len(names)
        named = dict(zip(names, arguments[first:], strict=True))
        lowered = lower_call(function, arguments[:first], named, span, observed.real)
        self._kind = lowered.kind
        if not _has_rows(self._kind):
            raise NotCompiled("the result of this call has no rows", span)
        self._by_row = [False for _ in parameters_of(function)]
        for entry, varies in zip(arguments, by_row, strict=True):
            self._by_row += [varies] * len([*parameters_of(entry)])
        summed = [False for _ in lowered.region.block.results]
        try:
            self._call = MappedRegion(
                lowered.region, lowered.regions, self._by_row, summed, len(summed)
            )
        except NoRule as reason:
            raise NotCompiled(str(reason), span) from None
        if (refusal := self._call.rows.refusal) is not None:
            raise NotCompiled(refusal.reason, refusal.span or span)
        self.work = work_of_row(self._call.region.block)

    @property
    def tells_reads(self) -> bool:
        return self._call.element_reads is not None

    def run(self, run: Run, site: Site, values: Sequence[Any], rows: Sequence[Any]) -> Any:
        """The result. `values` are the parameters, of which those that differ between rows are
        replaced by `rows`. Raises StepBack, and NoRule."""
        if not self._call.rows.is_there:
            raise StepBack
        parts = iter(rows)
        numbers = [
            next(parts) if varies else value
            for value, varies in zip(values, self._by_row, strict=True)
        ]
        return held_of(self._kind, iter(self._call.apply(run, site, numbers)))


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
        or (is_array(each.value) and -(ndim := primal(each.value).ndim) <= each.axis < ndim)
        for each in found
    ]
    return found if all(fits) else None


def _rows(arguments: Sequence[Argument]) -> int:
    """The number of rows; 0 if there are none, or arguments differ in it."""
    sizes = {primal(each.value).shape[each.axis] for each in arguments if each.axis is not None}
    return int(sizes.pop()) if len(sizes) == 1 else 0


def _has_rows(kind: Kind) -> bool:
    """Whether something of a kind has only numbers and arrays, in lists and dicts."""
    if isinstance(kind, ListOf | RecordOf):
        return bool(kind.items) and all(map(_has_rows, kind.items))
    return isinstance(kind, Scalar) or (isinstance(kind, StoredOf) and not kind.listed)
