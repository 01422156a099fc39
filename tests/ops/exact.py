"""The elementwise entries in mpmath: their counterparts, where to look at them, and how far off a
number is.

An error is counted in units in the last place of the exact result; or, where that moves the result
more, of an operand: nothing that starts from rounded operands can be expected to know better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gradcli.ops import OPS
from gradcli.ops.op import Op

from . import special_functions
from .special_functions import DIGITS, MP, SLOW

Point = tuple[float, ...]
Orders = tuple[int, ...]  # of a derivative, by each operand


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + MP.exp(-x))


def _trunc(x: Any) -> Any:
    return MP.floor(x) if x >= 0 else MP.ceil(x)


# mpmath's counterpart where it isn't the function of the same name.
COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: MP.floor(a / b), "mod": lambda a, b: a - b * MP.floor(a / b),
    "pow": lambda a, b: a**b,
    "neg": lambda x: -x, "pos": lambda x: x, "square": lambda x: x * x,
    "exp2": lambda x: MP.mpf(2) ** x,
    "cbrt": lambda x: MP.sign(x) * MP.cbrt(MP.fabs(x)), "log2": lambda x: MP.log(x, 2),
    "abs": MP.fabs,
    "hypot": lambda a, b: MP.sqrt(a * a + b * b), "round": MP.nint, "trunc": _trunc,
    "fmod": lambda a, b: a - b * _trunc(a / b),
    "minimum": lambda a, b: min(a, b), "maximum": lambda a, b: max(a, b),
    "clip": lambda x, low, high: min(max(x, low), high),
    "log1p": lambda x: MP.log(1 + x), "expm1": lambda x: MP.exp(x) - 1,
    "log10": lambda x: MP.log(x) / MP.log(10),
    "cosine": lambda a, b: a / MP.sqrt(a * a + b * b),
    "inversion": lambda a, b: a / (a * a + b * b),
    "degrees": lambda x: x * 180 / MP.pi, "radians": lambda x: x * MP.pi / 180,
    "one_minus_square": lambda x: 1 - x * x,
    "relu": lambda x: max(x, MP.zero), "leaky_relu": lambda x, slope: x if x > 0 else slope * x,
    "elu": lambda x, alpha: x if x > 0 else alpha * (MP.exp(x) - 1),
    "gelu": lambda x: x * MP.erfc(-x / MP.sqrt(2)) / 2,
    "sigmoid": _sigmoid, "silu": lambda x: x * _sigmoid(x),
    "softplus": lambda x: MP.log(1 + MP.exp(x)),
    "sinc": lambda x: MP.sin(MP.pi * x) / (MP.pi * x) if x else MP.one,
    "logaddexp": lambda a, b: MP.log(MP.exp(a) + MP.exp(b)), "strict_mul": lambda g, p: g * p, "beside": lambda x, other: x,
    "beta_edge_slope": lambda i, j, a, b, x: MP.zero,  # see test_special.py
    **special_functions.COUNTERPARTS,
}  # fmt: skip

# Points where naive formulas lose their digits: tails, near kinks and near singularities.
HARD: dict[str, list[tuple[float, ...]]] = {
    "add": [(1e100, -1e-100), (1.0, -0.9999999999)],
    "div": [(1e300, 1e5), (1e-200, 3e50), (-0.0, 2.0)],
    "mod": [(1e10, 0.3), (-1e-20, 3.0)],
    "fmod": [(1e10, 0.3), (-7.5, 2.0)],
    "abs": [(-1e308,), (5e-324,)],
    "minimum": [(1.0, 1.0000000001), (-1e300, 1e300)],
    "sin": [(1e-300,), (3.14159,), (1e5,)],
    "cos": [(1e-9,), (1.5707963,), (1e5,)],
    "tan": [(1.57,), (-1.5,), (10.0,)],
    "sinh": [(1e-12,), (-20.0,), (700.0,)],
    "cosh": [(1e-12,), (-20.0,), (700.0,)],
    "sech": [(1e-12,), (-20.0,), (600.0,)],
    "log2": [(1e-300,), (0.9999999,), (1e300,)],
    "log10": [(1e-300,), (0.9999999,), (1e300,)],
    "cosine": [(1e-9, 1.0), (1.0, 1e-9), (1e200, 1e199), (3e-100, -4e-100)],
    "inversion": [(1e-9, 1.0), (1.0, 1.0000001), (-1e100, 1e99)],
    "relu": [(1e-300,), (1e300,)],
    "asin": [(1e-10,), (0.999999999,), (-0.9999999,)],
    "acos": [(1e-10,), (0.999999999,)],
    "atanh": [(1e-10,), (0.9999999999,)],
    "acosh": [(1.0000001,), (1e10,), (1e100,)],
    "asinh": [(1e-12,), (1e10,), (-1e10,), (1e100,)],
    "atan": [(1e-9,), (1e8,), (1e60,)],
    "tanh": [(1e-10,), (20.0,), (-200.0,), (300.0,)],
    "sinc": [(1e-8,), (0.2999,), (0.3001,), (7.25,), (-651.56,)],
    "expm1": [(1e-15,), (-40.0,), (700.0,)],
    "log1p": [(1e-15,), (-0.999999,), (1e300,)],
    "exp": [(-700.0,), (700.0,)],
    "sigmoid": [(-700.0,), (-30.0,), (1e-10,), (30.0,), (700.0,)],
    "softplus": [(-700.0,), (-30.0,), (30.0,), (800.0,)],
    "silu": [(-600.0,), (-30.0,), (30.0,), (800.0,)],
    "gelu": [(-20.0,), (-5.0,), (1e-9,), (30.0,)],
    "cbrt": [(-8.0,), (1e-200,), (1e200,)],
    "sqrt": [(1e-200,), (1e200,)],
    "hypot": [(1e200, 1e199), (3e-200, 4e-200), (1e-9, 2.0), (2.0, -1e-7)],
    "square": [(1e-160,), (1e100,)],
    "atan2": [(1e-200, -1.0), (-1e200, 2e200), (0.0, 1.0), (1.0, 1.0000001)],
    "logaddexp": [(700.0, -700.0), (1000.0, 1000.5)],
    "pow": [(1e-3, 30.5), (1e5, -7.0), (2.0, 0.0)],
    "log": [(1e-300,), (1e300,)],
    "elu": [(-50.0, 1.0), (-1e-12, 1.0), (0.5, 2.0)],
    "leaky_relu": [(-1e-300, 0.1), (3.0, 0.1)],
    "exp2": [(-1000.0,), (1000.5,)],
    **special_functions.HARD,
}

COMPLEX = {"real", "imag", "angle"}  # see test_complex.py
APART = {"quantile_slope"}  # whose operands aren't independent: the partial of `ndtri`
REAL = [
    op
    for op in OPS.values()
    if op.elementwise and op.differentiable and op.name not in COMPLEX | APART
]


def counterpart(op: Op) -> Callable[..., Any]:
    return COUNTERPARTS.get(op.name) or getattr(MP, op.name)


def points(op: Op) -> list[Point]:
    """Random points of the domain, and the hard ones."""
    random = np.random.default_rng(sum(map(ord, op.name)))
    n = len(op.signature.operands)
    domain = op.domain or ((-math.inf, math.inf),) * n
    ends = [(max(low, -3.0), min(high, max(low, -3.0) + 6.0)) for low, high in domain]

    def one(k: int) -> float:
        low, high = ends[k]
        return (
            float(random.uniform(low, high))
            if op.partials[k]
            else math.ceil(low) + float(random.integers(0, 2))
        )

    return [tuple(map(one, range(n))) for _ in range(2 if op.name in SLOW else 6)] + HARD.get(
        op.name, []
    )


def moving(op: Op) -> list[int]:
    """The operands that aren't orders."""
    return [k for k, partial in enumerate(op.partials) if partial]


def unit_orders(n: int, *operands: int) -> Orders:
    """The orders of a derivative by each of the operands named."""
    return tuple(operands.count(k) for k in range(n))


@cache
def exact(op: Op, point: Point, orders: Orders) -> Any:
    """A derivative of the counterpart; the step suits the scale of each coordinate."""
    f = counterpart(op)
    at = [MP.mpf(x) for x in point]
    with MP.workdps(DIGITS.get(op.name, 600)):
        for k, order in enumerate(orders):
            f = _derivative(f, k, order) if order else f
        return f(*at)


def _derivative(f: Callable[..., Any], k: int, order: int) -> Callable[..., Any]:
    def slope(*at: Any) -> Any:
        h = MP.mpf(10) ** (-min(60, MP.dps // 4)) * max(
            MP.fabs(at[k]), MP.mpf(10) ** -10 if at[k] == 0 else 0
        )
        up, here, down = ([*at[:k], at[k] + s * h, *at[k + 1 :]] for s in (1, 0, -1))
        if order == 1:
            return (f(*up) - f(*down)) / (2 * h)
        return (f(*up) - 2 * f(*here) + f(*down)) / (h * h)

    return slope


def error(
    op: Op, point: Point, orders: Orders, found: float, enough: float, dtype: Any = np.float64
) -> float:
    """How far `found` is off, in units in the last place. What is less than `enough` may be too
    large, and costs less."""
    want = exact(op, point, orders)
    eps, tiny = MP.mpf(float(np.finfo(dtype).eps)), MP.mpf(float(np.finfo(dtype).tiny)) * 1e8
    if not MP.isfinite(found) or not MP.isfinite(want):
        return 0.0 if float(found) == float(want) else math.inf
    off = MP.fabs(MP.mpf(float(found)) - want)
    if off <= tiny:  # what underflows, or is nothing beside what it came from
        return 0.0
    unit = _unit(want, eps)
    for k in moving(op):
        if off <= enough * unit:
            break
        step = _unit(MP.mpf(point[k]), eps)
        moved = (*point[:k], MP.mpf(point[k]) + step, *point[k + 1 :])
        unit = max(unit, MP.fabs(exact(op, moved, orders) - want))
    return float(off / unit) if unit else math.inf


def _unit(x: Any, eps: Any) -> Any:
    """The unit in the last place of a number."""
    return eps * MP.mpf(2) ** MP.floor(MP.log(MP.fabs(x), 2)) if x else eps * 0
