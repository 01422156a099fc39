"""Regions that other regions call, as functions of machine code.

They work on values, not in memory. The counts of what is left are passed in and out beside the
parameters and the results. A call that finds the C stack too full steps back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from .frame import ADDRESS, DONE, INT, STATUS, Frame
from .guards import Counts, Guards

MOST_OF_THE_STACK = 2**19  # bytes; the smallest stacks of threads have twice as many
_COUNTS = len(Counts._fields)


def function_of(module: Any, name: str, parameters: Sequence[Any], results: Sequence[Any]) -> Any:
    """The function of a region, without its code yet."""
    found = ir.LiteralStructType([STATUS, *[INT] * _COUNTS, *results])
    own = [ADDRESS, INT, ADDRESS.as_pointer(), *[INT] * _COUNTS]
    kind = ir.FunctionType(found, [*own, *parameters])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    return function


def call(frame: Frame, guards: Guards, function: Any, operands: Sequence[Any]) -> list[Any]:
    """Emits a call, which leaves as the function does; returns its results."""
    status, results = attempt(frame, guards, function, operands)
    frame.leave_as(status)
    return results


def attempt(
    frame: Frame, guards: Guards, function: Any, operands: Sequence[Any]
) -> tuple[Any, list[Any]]:
    """Emits a call; returns how the function ended, and its results."""
    make = frame.builder
    own = [frame.held, frame.bottom, frame.arrays, *guards.counts()]
    found = make.call(function, [*own, *operands])
    status, *values = [
        make.extract_value(found, k) for k in range(len(function.function_type.return_type))
    ]
    guards.set_counts(Counts(*values[:_COUNTS]))
    return status, values[_COUNTS:]


def ended(frame: Frame, status: Any, end: int) -> Any:
    """Whether a function ended with this status."""
    return frame.builder.icmp_signed("==", status, STATUS(end))


class Called(Frame):
    """The function of a region that others call."""

    def __init__(self, function: Any, each_module: Any = None) -> None:
        super().__init__(function, each_module)
        self.held, self.bottom, self.arrays, *rest = function.args
        self.left, self.parameters = Counts(*rest[:_COUNTS]), rest[_COUNTS:]

    def verify_stack(self) -> None:
        """Steps back where the C stack is too full."""
        used = self.builder.sub(self.bottom, self.here())
        most = INT(MOST_OF_THE_STACK)
        self.leave_if(self.builder.icmp_signed(">", used, most), self.step_back)

    def done(
        self, results: Sequence[Any], release: Callable[[], None], counts: Callable[[], Counts]
    ) -> None:
        """Ends the function. `release` emits the clean-up at every end, `counts` what is left."""
        release()
        self.give([STATUS(DONE), *counts(), *results], release)
