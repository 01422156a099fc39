"""Kernels on rows that make the calls of `vmap(f)`.

The function is lowered for the arguments of one row, and for what it has captured, which the rows
share. On traced values a call is one record. Where a row steps back, the interpreter makes the
whole call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import Span
from ...backends.tiers import policy
from ...codegen.step_back import StepBack
from ...ir.types import Scalar
from ...lowering.entries import parameters_of
from ...lowering.frames import lower_call
from ...lowering.held.kinds import Kind, Record, Stored, items_in
from ...lowering.held.names import NotCompiled
from ...passes.rules import NoRule
from ...trace.run import Run
from ...trace.tape import Site
from ...values.boxes import UNBOXED, level_of
from ...values.kinds import UNSET, Transform
from ..frame_entries import Observed, observe_values
from ..region_values import as_parameter, held_of
from ..traced_lists import TracedList
from ..variants import Variants
from .arguments import Argument
from .regions import MAPPED, MappedRegion, work_of_row


class MappedKernels:
    """The kernels of the calls of `vmap(f)` at a place, for values of each kind."""

    def __init__(self, span: Span) -> None:
        self._site = Site(MAPPED, span)
        self._calls = Variants(lambda observed, how, _: MappedCall(observed, how[0], how[1], span))

    def run(
        self,
        run: Run,
        function: Transform,
        arguments: Sequence[Argument],
        names: Sequence[str],
        numbers: int,
        work: int,
    ) -> Any:
        """The result of a call, whose last arguments have `names`. UNSET if the interpreter must
        make it: where the `work` done so far, and that on `numbers` of all calls' arguments, don't
        pay for a kernel, or there is none. Raises StepBack."""
        observed = observe_values(run, [function.function, *[each.first for each in arguments]])
        if any(type(value) is TracedList for value in observed.values):
            return UNSET
        is_boxed = observed.is_boxed or any(level_of(each.value) != UNBOXED for each in arguments)
        if is_boxed and not run.rows_as_one:
            return UNSET
        by_row = tuple([each.axis is not None for each in arguments])
        call = self._calls.of(observed, (by_row, tuple(names)))
        assert not isinstance(call, int)
        if call is None or work + numbers * call.work < policy().heat.operations:
            return UNSET
        if is_boxed and not (run.one_record or call.tells_reads):
            return UNSET
        rows = [each.in_rows(run, self._site) for each in arguments if each.axis is not None]
        try:
            return call.run(run, self._site, list(map(as_parameter, observed.values)), rows)
        except NoRule:
            raise StepBack from None


class MappedCall:
    """Makes the calls for rows of one kind.

    work         about how many instructions a row takes
    tells_reads  whether its record tells what each element depends on
    """

    def __init__(
        self, observed: Observed, by_row: Sequence[bool], names: Sequence[str], span: Span
    ) -> None:
        """Raises NotCompiled."""
        function, *arguments = observed.entries.values()
        lowered = lower_call(function, arguments, names, span, observed.real)
        self._kind = lowered.kind
        if not _has_rows(self._kind):
            raise NotCompiled("the result of this call has no rows", span)
        self._by_row = [False for _ in parameters_of(function)]
        for entry, varies in zip(arguments, by_row, strict=True):
            self._by_row += [varies] * len(parameters_of(entry))
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

    def unpaid(self, depth: int, work: float) -> int:
        return 0  # `MappedKernels` weighs it instead, by rows

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


def _has_rows(kind: Kind) -> bool:
    """Whether something of a kind has only numbers and arrays, in lists and dicts."""
    if isinstance(kind, tuple | Record):
        parts = items_in(kind)
        return bool(parts) and all(map(_has_rows, parts))
    return isinstance(kind, Scalar) or (isinstance(kind, Stored) and not kind.listed)
