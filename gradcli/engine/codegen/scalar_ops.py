"""What the back ends of machine code share: what ops are in C, which scalar functions the C library
has, and which ops are formulas of a few others, with the bits of the scalar functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...diagnostics import Span
from ...ops import OPS
from ...ops.formula import Formula, read_forward

COMPARISONS = {name: OPS[name].infix for name in ("lt", "le", "gt", "ge", "eq", "ne")}
# Functions that are rounded correctly, by their names in C, which LLVM's intrinsics have, too.
EXACT = {
    "abs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
}
# The functions that `math` has from the C library, which returns what IEEE 754 asks for where
# `math` raises. (`hypot`, `gamma` and `lgamma` are Python's own.)
LIBRARY = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "pow", "erf", "erfc",
}  # fmt: skip
POWERS = (1.0, 2.0, 3.0)  # exponents whose powers are within 2 ulps as products


class NotNative(Exception):  # noqa: N818 - an answer, not an error
    """Why a region has no machine code, and the place of what has none."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span: Span | None = None


def _extreme(sign: str) -> Callable[..., Formula]:
    """The first where it is as extreme or a nan, else the second, which may be one."""
    return lambda m, a, b: m.where(getattr(m, sign)(a, b), a, m.where(m.isnan(a), a, b))


def _mod(m: Any, a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor, as Python defines it."""
    r = m.fmod(a, b)
    signed = m.where((b < 0) != (r < 0), r + b, r)
    return m.where(b == 0, math.nan, m.where(r == 0, m.copysign(0.0, b), signed))


def _floordiv(m: Any, a: Any, b: Any) -> Any:
    """The quotient rounded down, as Python computes it from the remainder."""
    r = m.fmod(a, b)
    quotient = (a - r) / b
    quotient = m.where(r == 0, quotient, m.where((b < 0) != (r < 0), quotient - 1.0, quotient))
    down = m.floor(quotient)
    nearest = m.where(quotient - down > 0.5, down + 1.0, down)
    whole = m.where(quotient == 0, m.copysign(0.0, a / b), nearest)
    return m.where(b == 0, a / b, whole)


def _strict_mul(m: Any, g: Any, partial: Any) -> Any:
    product = g * partial
    repaired = m.where(g == 0, 0.0, m.where(partial == 0, 0.0, product))
    return m.where(m.isnan(product), repaired, product)


def _logaddexp(m: Any, a: Any, b: Any) -> Any:
    larger = m.maximum(a, b) + m.log1p(m.exp(-m.abs(a - b)))
    return m.where(a == b, a + math.log(2.0), larger)


def _same(m: Any, x: Any) -> Any:
    return x


def _sign(m: Any, x: Any) -> Any:
    return (x > 0) - (x < 0)


def _read(rules: dict[str, tuple[int, Callable[..., Any]]]) -> dict[str, Formula]:
    return {name: read_forward(rule, n) for name, (n, rule) in rules.items()}


ON_FLOATS = _read(
    {
        "pos": (1, _same),
        "fixed": (1, _same),
        "beside": (2, lambda m, x, other: x),
        "real": (1, _same),
        "imag": (1, lambda m, x: 0.0),
        "angle": (1, lambda m, x: m.atan2(0.0, x)),
        "square": (1, lambda m, x: x * x),
        "sign": (1, lambda m, x: m.where(m.isnan(x), x, _sign(m, x))),
        "isnan": (1, lambda m, x: x != x),
        "isinf": (1, lambda m, x: m.abs(x) == math.inf),
        "isfinite": (1, lambda m, x: m.abs(x) < math.inf),
        "logical_not": (1, lambda m, x: x == 0),
        "minimum": (2, _extreme("le")),
        "maximum": (2, _extreme("ge")),
        "mod": (2, _mod),
        "floordiv": (2, _floordiv),
        "strict_mul": (2, _strict_mul),
        "degrees": (1, lambda m, x: x * (180.0 / math.pi)),
        "radians": (1, lambda m, x: x * (math.pi / 180.0)),
        "sinc": (1, lambda m, x: m.where(x == 0, 1.0, m.sin(math.pi * x) / (math.pi * x))),
        "logaddexp": (2, _logaddexp),
    }
)
ON_INTS = _read(
    {
        **dict.fromkeys(("pos", "real", "floor", "ceil", "round", "trunc"), (1, _same)),
        "imag": (1, lambda m, x: 0),
        "neg": (1, lambda m, x: m.sub(0, x)),
        "abs": (1, lambda m, x: m.where(x < 0, -x, x)),
        "sign": (1, _sign),
        "square": (1, lambda m, x: x * x),
        "minimum": (2, lambda m, a, b: m.where(b < a, b, a)),
        "maximum": (2, lambda m, a, b: m.where(b > a, b, a)),
        "clip": (3, lambda m, x, low, high: m.minimum(m.maximum(x, low), high)),
        "isnan": (1, lambda m, x: x != x),
        "isinf": (1, lambda m, x: x != x),
        "isfinite": (1, lambda m, x: x == x),
        "logical_not": (1, lambda m, x: x == 0),
    }
)
