"""Calls of `vmap(f)`, which kernels make once these pay: see `../hot_calls.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....diagnostics import Span
from ...backends.tiers import policy
from ...codegen.step_back import StepBack
from ...trace.run import Run
from ...values.boxes import primal
from ...values.kinds import UNSET, Transform
from .arguments import arguments_of, rows_of

if TYPE_CHECKING:
    from .kernels import MappedKernels


class MappedCalls:
    """Makes the calls of `vmap(f)` at a place by kernels, for values of any kinds."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._numbers = self._work = 0  # of all arguments so far, and operations on them
        self._rows = 0  # of the last call
        self._kernels: MappedKernels | None = None

    def run(
        self, run: Run, function: Transform, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """The result of a call; UNSET if the interpreter must make it."""
        found = arguments_of(function, arguments, named)
        n = None if found is None else rows_of(found)
        if found is None or not n or not policy().compiles:
            return UNSET
        numbers = sum([primal(each.value).size for each in found if each.axis is not None])
        self._numbers, self._rows = self._numbers + numbers, n
        if self._numbers < policy().heat.elements and self._work < policy().heat.operations:
            return UNSET
        if self._kernels is None:
            from .kernels import MappedKernels  # the compiler

            self._kernels = MappedKernels(self._span)
        try:
            return self._kernels.run(run, function, found, list(named), self._numbers, self._work)
        except StepBack:
            self._numbers = self._work = 0  # so that it isn't tried again soon
            return UNSET

    def learn(self, operations: int) -> None:
        """Notes a call that the interpreter made, with so many operations on all rows."""
        self._work += operations * self._rows
