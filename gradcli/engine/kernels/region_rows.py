"""Regions for many rows: what all rows share is computed once, and a kernel computes the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from ..backends.backend import CPU, Backend
from ..codegen.kernel import OnRows, Refusal, RowsPlainFirst, refused_on_rows, rows_kernel
from ..ir.instructions import Region
from ..passes.hoisting import apart
from ..passes.pipeline import compiled_form, without_rules
from .region_calls import RegionCall

_NUMBERS = (bool, int, float)


class RegionRows:
    """A region as a function of columns on the device of a backend; on the CPU also of arrays with
    `rows_first`, and with results that are `summed`: see `RowsKernel`.

    refusal  why there is no kernel, once somebody has asked whether there is one
    """

    refusal: Refusal | None = None

    def __init__(
        self,
        call: RegionCall,
        by_row: Sequence[bool],
        rows_first: Collection[int] | None = None,
        summed: Collection[int] = (),
        backend: Backend = CPU,
    ) -> None:
        """`by_row` says which parameters of the region each row has its own of; all share the
        others."""
        self._by_row, self._backend = list(by_row), backend
        self._rows_first, self._summed = rows_first, summed
        # What follows from constants alone isn't shared any more: each row has it as a constant.
        before, self._takes, of_row = apart(without_rules(call.region), by_row)
        self._gives = len(before.block.results)
        self._before = RegionCall(before, call.regions) if before.block.instructions else None
        self._regions = compiled_form(of_row, *call.called)
        # The last numbers that rows shared, as texts, and the values computed of them.
        self._last: tuple[list[str], list[Any]] | None = None

    @cached_property
    def _kernel(self) -> RowsPlainFirst:
        return RowsPlainFirst(self._made, *self._regions)

    def _made(self, regions: Sequence[Region]) -> OnRows | None:
        region, *others = regions
        varies = [*self._by_row, *[False] * self._gives]
        made = refused_on_rows(*self._regions) or rows_kernel(
            region, others, varies, self._rows_first, self._summed, self._backend
        )
        if isinstance(made, Refusal):
            self.refusal = made
            return None
        return made

    @property
    def is_there(self) -> bool:
        """Whether there is a kernel."""
        return self._kernel.is_there

    def run(
        self,
        n: int,
        values: Sequence[Any],
        memory: int | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[list[Any], Any]:
        """The results for `n` rows, and for each row whether the region steps back; see `OnRows`.
        Raises StepBack where it does so for what all rows share."""
        shared = self._computed([values[k] for k in self._takes])
        return self._kernel.run(n, [*values, *shared], memory, into)

    def _computed(self, shared: list[Any]) -> list[Any]:
        """The values that are computed of what the rows share."""
        if self._before is None:
            return []
        if not all(type(value) in _NUMBERS for value in shared):
            return self._before.run(shared)  # an array may change in place
        texts, last = list(map(repr, shared)), self._last
        if last is None or last[0] != texts:
            self._last = last = texts, self._before.run(shared)
        return last[1]
