"""Calls of `vmap(f)`, which kernels make once these pay: see `../hot_calls.py`. An argument has
rows along an axis, or all rows share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ....diagnostics import Span
from ....ops import OPS
from ...backends.backend import CPU
from ...backends.tiers import policy
from ...codegen.step_back import StepBack
from ...ir.types import OF_DTYPE
from ...operations.apply import apply
from ...trace.run import Run
from ...trace.tape import Site
from ...values.boxes import UNBOXED, is_of, level_of, primal
from ...values.kinds import UNSET, Transform, read

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


def arguments_of(
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
        or (_is_array(each.value) and -(ndim := primal(each.value).ndim) <= each.axis < ndim)
        for each in found
    ]
    return found if all(fits) else None


def rows_of(arguments: Sequence[Argument]) -> int:
    """The number of rows; 0 if there are none, or arguments differ in it."""
    sizes = {primal(each.value).shape[each.axis] for each in arguments if each.axis is not None}
    return int(sizes.pop()) if len(sizes) == 1 else 0


def _is_array(value: Any) -> bool:
    """Whether a value is an array that regions take, and operations on it are recorded."""
    return is_of(value, CPU.ndarray) and primal(value).dtype.name in OF_DTYPE
