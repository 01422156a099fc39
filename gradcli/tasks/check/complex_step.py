"""The complex step: how small it is, and where numbers are too small for it."""

from __future__ import annotations

from typing import Any

from ...engine.backends.backend import CPU, is_inexact
from ...engine.replay.history import Step
from ...engine.values.lanes import Lanes
from .closed_form import SkippedError
from .point import Case

TINY_STEP = 1e-30  # of the complex step, which has no difference to lose digits in
FINER = 1e-200  # times that step
SMALLEST_STEP = 1e-306
TINIEST = 1e-290  # that the complex step may move an output by
TINY = TINIEST / TINY_STEP  # what is less leaves no room for it
PRODUCTS = ("mul", "div", "pow", "square", "exp", "exp2")


def tiny_step(reach: float) -> float:
    """The complex step for numbers of a size: nothing beside them, and no subnormal number."""
    return max(TINY_STEP * min(reach, 1.0), SMALLEST_STEP)


def finer_step(step: float) -> float:
    """A step at which nothing is left of what shrinks with a complex step."""
    return max(step * FINER, SMALLEST_STEP)


def verify_no_underflow(derivative: float, step: float, reach: float) -> None:
    """Raises SkippedError where the complex step would move the output by less than the smallest
    floats, or is so small beside a variable of the size `reach`."""
    if derivative and abs(derivative) * step < TINIEST:
        raise SkippedError("the numbers are too small for the complex step")
    if step < TINIEST * reach:
        raise SkippedError("the numbers are too large for the complex step")


def verify_no_tiny_numbers(case: Case) -> None:
    """Raises SkippedError where a number on the way is so small that its imaginary part vanishes in
    the complex step."""

    def watch(step: Step, result: Any, operands: list[Any]) -> None:
        if any(map(_is_tiny, [result, *operands])) or underflows(step, result, operands, TINY):
            raise SkippedError(
                f"`{step.site.op.name}` in line {step.site.span.line} has numbers too small for "
                "the complex step"
            )

    case.replay(watch=watch)


def _is_tiny(value: Any) -> bool:
    if type(value) is list:
        return any(map(_is_tiny, value))
    numbers = value.array if type(value) is Lanes else value
    if not is_inexact(numbers):
        return False
    size = abs(numbers)
    return bool(CPU.xp.any((size > 0) & (size < TINY)))


def underflows(step: Step, result: Any, operands: list[Any], least: float) -> bool:
    """Whether an operation is a product of numbers that aren't 0, and an element of its result is
    less than `least`."""
    if step.site.op.name not in PRODUCTS:
        return False
    is_lost = abs(numbers_of(result)) < least
    for operand in map(numbers_of, operands):
        is_lost = is_lost & (operand != 0) & CPU.xp.isfinite(operand)
    return bool(CPU.xp.any(is_lost))


def numbers_of(value: Any) -> Any:
    """The numbers in a value of a step, without negative zeros."""
    return CPU.xp.asarray(value.array if type(value) is Lanes else value) + 0.0


def imaginary_part(value: object) -> float:
    return float(CPU.xp.imag(value))
