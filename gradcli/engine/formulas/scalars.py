"""Elementwise functions on Python numbers with IEEE semantics: none of them raises for a float.

Each function has its op's name. `FAST` holds, where there is one, the bare C function that gives
the same result but may raise (`math.exp` overflows), for the fast path: on an exception the safe
function is called. `INTEGER` holds the functions on ints of ops that keep ints: exact, and bounded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from math import copysign, inf, isfinite, isinf, isnan, nan
from typing import Any

# Of Python, by their own names.
_OPERATORS = (
    "add", "sub", "mul", "neg", "pos", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "abs",
)  # fmt: skip
_FUNCTIONS = (
    "pow", "fmod", "isnan", "isinf", "isfinite", "sqrt", "cbrt", "hypot", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "degrees", "radians", "erf", "erfc", "gamma",
)  # fmt: skip
FAST: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in _OPERATORS},
    **{name: getattr(math, name) for name in _FUNCTIONS},
    "div": operator.truediv,
    "logical_not": operator.not_,
}
# Those that the C library doesn't have, or not with the same bits.
OF_PYTHON = {"gamma", "lgamma"}

# ---- operators -----------------------------------------------------------------------------------

add, sub, mul, neg, pos = operator.add, operator.sub, operator.mul, operator.neg, operator.pos
eq, ne, logical_not = operator.eq, operator.ne, operator.not_
lt, le, gt, ge = operator.lt, operator.le, operator.gt, operator.ge


def div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or isnan(a) else copysign(inf, a) * copysign(1.0, b)


def logical_and(a: float, b: float) -> bool:
    return bool(a) and bool(b)


def logical_or(a: float, b: float) -> bool:
    return bool(a) or bool(b)


def floordiv(a: float, b: float) -> float:
    return a // b if b else div(a, b)


def mod(a: float, b: float) -> float:
    return a % b if b else nan


def fmod(a: float, b: float) -> float:
    return nan if isinf(a) or b == 0 else math.fmod(a, b)


def pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and b % 2 == 1 else inf
    except ValueError:  # 0 to a negative power, or a negative number to a broken one
        if a:
            return nan
        return copysign(inf, a) if b % 2 == 1 else inf


# ---- functions of one number ---------------------------------------------------------------------


def _ieee(function: Callable[[float], float], **poles: float) -> Callable[[float], float]:
    """Returns `function` with nan outside its domain, infinity beyond the range, and the values
    `at_…` at its poles.
    """
    at = {float(name[3:].replace("m", "-")): value for name, value in poles.items()}

    def safe(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return at.get(x, nan)
        except OverflowError:
            return inf

    return safe


sqrt, cbrt = _ieee(math.sqrt), math.cbrt
exp, exp2, expm1 = _ieee(math.exp), _ieee(math.exp2), _ieee(math.expm1)
log, log2, log10 = (_ieee(function, at_0=-inf) for function in (math.log, math.log2, math.log10))
log1p = _ieee(math.log1p, at_m1=-inf)
sin, cos, tan = _ieee(math.sin), _ieee(math.cos), _ieee(math.tan)
asin, acos, atan, atan2 = _ieee(math.asin), _ieee(math.acos), math.atan, math.atan2
cosh, tanh = _ieee(math.cosh), math.tanh
asinh, acosh, atanh = math.asinh, _ieee(math.acosh), _ieee(math.atanh, at_1=inf, at_m1=-inf)
degrees, radians, hypot = math.degrees, math.radians, math.hypot
erf, erfc = math.erf, math.erfc


# The Taylor coefficients of log Γ at 2, from the first on: 1 - γ, and then (-1)^k (ζ(k) - 1) / k.
NEAR_TWO = [
    0.42278433509846713,
    0.3224670334241132,
    -0.0673523010531981,
    0.020580808427784546,
    -0.007385551028673986,
    0.0028905103307415234,
    -0.001192753911703261,
    0.0005096695247430425,
    -0.00022315475845357939,
    9.945751278180853e-05,
    -4.492623673813314e-05,
    2.050721277567069e-05,
    -9.439488275268397e-06,
    4.374866789907488e-06,
    -2.039215753801366e-06,
    9.55141213040742e-07,
    -4.492469198764566e-07,
    2.1207184805554665e-07,
    -1.0043224823968099e-07,
    4.7698101693639804e-08,
    -2.2711094608943164e-08,
    1.0838659214896955e-08,
    -5.183475041970047e-09,
    2.4836745438024785e-09,
    -1.1921401405860912e-09,
    5.731367241678862e-10,
]


def _lgamma_near_two(z: float) -> float:
    """Returns log Γ(2 + z) for |z| <= 1/2."""
    total = 0.0
    for coefficient in reversed(NEAR_TWO):
        total = (total + coefficient) * z
    return total


def lgamma(x: float) -> float:
    if 1.0 <= x <= 2.5:  # where it is small, Python's own loses digits
        return (
            _lgamma_near_two(x - 2.0)
            if x > 1.5
            else _lgamma_near_two(x - 1.0) - math.log1p(x - 1.0)
        )
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole, or beyond the range
        return inf


def gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except ValueError:  # a pole, or -inf
        return nan if x else copysign(inf, x)
    except OverflowError:  # on the left only next to 0
        return copysign(inf, x)


def sinh(x: float) -> float:
    try:
        return math.sinh(x)
    except OverflowError:
        return copysign(inf, x)


def square(x: float) -> float:
    return x * x


def sinc(x: float) -> float:
    return sin(math.pi * x) / (math.pi * x) if x else 1.0


def logaddexp(a: float, b: float) -> float:
    if a == b:  # equal infinities too
        return a + math.log(2.0)
    return maximum(a, b) + math.log1p(math.exp(-abs(a - b)))


# ---- signs, rounding, choosing -------------------------------------------------------------------

abs = operator.abs


def sign(x: float) -> float:
    return x if isnan(x) else float((x > 0) - (x < 0))


def _whole(to_int: Callable[[float], int]) -> Callable[[float], float]:
    """Returns a rounding function that keeps infinities, nan and the sign of zero."""
    return lambda x: copysign(float(to_int(x)), x) if isfinite(x) else x


floor, ceil, trunc, round = (
    _whole(function) for function in (math.floor, math.ceil, math.trunc, round)
)


def minimum(a: float, b: float) -> float:
    return float(a if a <= b or isnan(a) else b)


def maximum(a: float, b: float) -> float:
    return float(a if a >= b or isnan(a) else b)


def where(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


# ---- parts of complex numbers --------------------------------------------------------------------


def real(x: Any) -> float:
    return x.real  # type: ignore[no-any-return]


def imag(x: Any) -> float:
    return x.imag  # type: ignore[no-any-return]


def conj(x: Any) -> Any:
    return x.conjugate()


def angle(x: Any) -> float:
    return math.atan2(x.imag, x.real)


# ---- ints ----------------------------------------------------------------------------------------


def _int_pow(a: int, b: int) -> int | float:
    """Returns a ** b, refused beforehand if it can't fit into 64 bits; a negative exponent gives a
    float.
    """
    if b < 0:
        return pow(float(a), float(b))
    if b * (operator.abs(a).bit_length() - 1) > 64:  # |a| >= 2 ** (bit_length - 1)
        raise OverflowError(f"{a}**{b} does not fit 64 bits")
    return int(a) ** int(b) if operator.abs(a) > 1 else _small_base(int(a), int(b))


def _small_base(a: int, b: int) -> int:
    """Returns a ** b for a = -1, 0, 1, for any b."""
    return 1 if b == 0 or (a == -1 and b % 2 == 0) else a


def _int_fmod(a: int, b: int) -> int:
    remainder = operator.abs(a) % operator.abs(b)
    return -remainder if a < 0 else remainder


_SAME = ("pos", "real", "floor", "ceil", "round", "trunc")  # what gives an int as it is
INTEGER: dict[str, Callable[..., Any]] = {
    **{name: FAST[name] for name in ("add", "sub", "mul", "neg", "floordiv", "mod", "abs")},
    **dict.fromkeys(_SAME, operator.pos),
    "pow": _int_pow,
    "fmod": _int_fmod,
    "sign": lambda x: (x > 0) - (x < 0),
    "square": lambda x: x * x,
    "minimum": min,
    "maximum": max,
    "clip": lambda x, low, high: min(max(x, low), high),
    "imag": lambda x: 0,
}
