"""The arguments of a call of `vmap(f)`, and the axes of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....ops import OPS
from ...backends.backend import CPU
from ...ir.types import OF_DTYPE
from ...operations.apply import apply
from ...trace.run import Run
from ...trace.tape import Site
from ...values.boxes import UNBOXED, is_of, level_of, primal
from ...values.kinds import Transform, read

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
