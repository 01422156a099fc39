"""Derivatives of a single operation along a tangent, and whether a rule differs from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...diagnostics import GradcliError
from ...engine.backends.backend import CPU, is_complex, is_inexact, shape_of
from ...engine.replay.continuation import NotAnalyticError, in_double
from ...engine.replay.rounding import rounding
from ...engine.trace.recording import Blank
from .complex_step import tiny_step
from .differences import Samples, extrapolated, negligible, one_sided
from .directions import Scatter

# A relative distance between a rule and the operation that is no rounding error: of differences,
# and of the complex step, which has no other error, so that the same distance has to show at
# operands beside, too.
WRONG, WRONG_EXACT = 1e-5, 1e-9
BESIDE = 6  # times that it has to
NEAR = 16  # times the rounding error: how far these are off, so that each rounds otherwise


class Slopes(NamedTuple):
    """A derivative by a rule and by the operation itself, with the error of the latter."""

    ours: float
    theirs: float
    error: float


def filled(value: Any) -> Any:
    """Replaces an operand of which the trace kept only the shape by ones, because the operation is
    linear in it."""
    if type(value) is Blank:
        return CPU.xp.ones(value.shape, value.dtype)
    return value


def like(scatter: Scatter, value: Any) -> Any:
    """Draws numbers of the shape and dtype of a value; None unless it is real or complex."""
    if not is_inexact(value):
        return None
    shape = shape_of(value)
    numbers = scatter.numbers(shape)
    if is_complex(value):
        return numbers + 1j * scatter.sizes(shape)
    return numbers.astype(value.dtype) if shape else type(value)(numbers)


def inner_product(a: Any, b: Any) -> float:
    product = CPU.xp.real(CPU.xp.conj(a) * b)
    return float(product.sum())


def weigh(y: Any, cotangent: Any) -> Any:
    """The weighted sum of a result, or of its parts. It is analytic in the result, for the complex
    step of real operations."""
    if type(y) is list:
        return sum(weigh(part, g) for part, g in zip(y, cotangent, strict=True) if g is not None)
    if type(cotangent) is complex or getattr(cotangent, "dtype", None) == "complex128":
        return inner_product(cotangent, y)
    product = in_double(cotangent) * y
    return product.sum() if shape_of(product) else product


def slope_of(
    function: Callable[[Any], Any], at: Any, real: bool, eps: float = 2.0**-52
) -> tuple[float, float]:
    """The derivative of a function of the step at 0, and an estimate of its error. `real`: of real
    numbers, so that the step may be complex; `eps`: what the function rounds to."""
    if real:
        step = tiny_step(size_of(at))
        try:
            value = complex(
                function(CPU.xp.complex128(step * 1j))
            )  # numbers in float32 become as wide
        except (NotAnalyticError, GradcliError, TypeError):
            value = complex(math.nan, math.nan)
        slope = value.imag / step
        if math.isfinite(slope):
            return slope, 0.0
    return extrapolated(samples_of(function, at, eps))


def samples_of(function: Callable[[Any], Any], at: Any, eps: float) -> Samples:
    """Samples of a function of the step, at real steps of the size of an operand."""

    def beside(h: float) -> float:
        try:
            return float(CPU.xp.real(function(h)))
        except GradcliError:
            return math.nan

    return Samples(beside, beside(0.0), 0.05 * size_of(at), eps)


def size_of(value: Any) -> float:
    """The size of the largest number in a value; 1 for zeros."""
    largest = float(abs(value).max(initial=0.0)) if shape_of(value) else float(abs(value))
    return largest if 0 < largest < math.inf else 1.0


def is_smooth(function: Callable[[Any], Any], at: Any, ours: float, eps: float) -> bool:
    """Whether the slopes to both sides converge and are the same, so that `ours` can be wrong. They
    aren't at a kink, nor where the function jumps, as eigenvectors do that change their sign."""
    left, right = one_sided(samples_of(function, at, eps))
    scale = max(abs(left.value), abs(right.value), abs(ours))
    return (
        abs(left.value - right.value) <= 1e-3 * scale
        and max(left.error, right.error) <= 1e-2 * scale
    )


def differ(found: Slopes, beside: Callable[[Callable[[Any], Any]], Slopes], eps: float) -> bool:
    """Whether a rule and its operation, which round to `eps`, differ by more than rounding.
    `beside` has the slopes at disturbed operands."""
    ours, theirs, error = found
    if not (math.isfinite(ours) and math.isfinite(theirs)):
        return False  # at the edge of the domain, where no number is right
    apart, size = ours - theirs, max(abs(ours), abs(theirs))
    is_double = eps <= 2.0**-52
    is_clear = abs(apart) > WRONG * size + 100 * error + negligible(eps)
    if is_clear and is_double and not error:
        return True
    if not is_clear and (error or not is_double or abs(apart) <= WRONG_EXACT * size):
        return False
    others = [beside(rounding(seed, NEAR * eps)) for seed in range(BESIDE)]
    return all((other.ours - other.theirs) / apart > 0.25 for other in others)
