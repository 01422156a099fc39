"""Choosing between values, element by element: minimum, maximum, clip and where."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op
from .rows import elementwise
from .rules import broadcast_shape, fit

_op = partial(Op, category="arithmetic")


def _one_if_first(m: Any, beyond: Any, tie: Any) -> Any:
    """The share of the chosen one of two values: 1 where it lies beyond the other, half at a tie, 0
    elsewhere."""
    return m.where(beyond, 1.0, m.where(tie, 0.5, 0.0))


def _where_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    return broadcast_shape("where", *shapes)


OPS = [
    _op(
        "minimum",
        "a, b",
        "The smaller of two values, elementwise.",
        symbolic=lambda s, a, b: s.Min(a, b),
        integers="keep",
        aliases=("fmin",),
        note="ties share the derivative equally; of 0.0 and -0.0 it takes the first",
        partials=(
            lambda m, y, a, b: _one_if_first(m, a < b, a == b),
            lambda m, y, a, b: _one_if_first(m, b < a, a == b),
        ),
    ),
    _op(
        "maximum",
        "a, b",
        "The larger of two values, elementwise.",
        symbolic=lambda s, a, b: s.Max(a, b),
        integers="keep",
        aliases=("fmax",),
        note="ties share the derivative equally; of 0.0 and -0.0 it takes the first",
        partials=(
            lambda m, y, a, b: _one_if_first(m, a > b, a == b),
            lambda m, y, a, b: _one_if_first(m, b > a, a == b),
        ),
    ),
    _op(
        "clip",
        "x, low=-inf, high=inf",
        "x, kept between low and high.",
        symbolic=lambda s, x, low, high: s.Piecewise(
            (high, s.Max(x, low) > high), (low, x < low), (x, True)
        ),
        integers="keep",
        aliases=("clamp",),
        domain=((-1.0, 2.0), (-0.5, 0.0), (0.5, 1.0)),
        note="at a bound counts as inside",
        forward=lambda m, x, low, high: m.minimum(m.maximum(x, low), high),
        partials=(
            lambda m, y, x, low, high: m.where(x < low, 0.0, m.where(x > high, 0.0, 1.0)),
            lambda m, y, x, low, high: m.where(x < low, m.where(low <= high, 1.0, 0.0), 0.0),
            lambda m, y, x, low, high: m.where(m.maximum(x, low) > high, 1.0, 0.0),
        ),
    ),
    # Not by partials: the cotangent is selected, not multiplied by 0, so that inf and nan stay on
    # the side they belong to.
    _op(
        "where",
        "condition, a, b",
        "a where the condition holds, b elsewhere.",
        symbolic=lambda s, condition, a, b: s.where(condition, a, b),
        saves=("condition",),
        linear=True,
        note="what isn't chosen has derivative 0, be its slope inf or nan",
        compute=lambda xp, condition, a, b: xp.where(xp.asarray(condition), a, b),
        rows=elementwise,
        result_shape=_where_shape,
        vjp=(
            None,
            lambda m, g, y, condition, a, b: fit(m, m.where(condition, g, 0.0), a),
            lambda m, g, y, condition, a, b: fit(m, m.where(condition, 0.0, g), b),
        ),
    ),
]
