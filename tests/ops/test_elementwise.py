"""Every elementwise formula of the table against 50 digits: value, partials and second derivatives, both readings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends import CPU
from gradcli.engine.formulas import array_function, array_partial, scalar_function, scalar_partial
from gradcli.ops import OPS
from gradcli.ops.op import Op

from . import special_functions
from .special_functions import DIGITS, MP, SLOPE_ULPS, SLOW, VALUE_ULPS
from .sweeps import Session


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + MP.exp(-x))


def _trunc(x: Any) -> Any:
    return MP.floor(x) if x >= 0 else MP.ceil(x)


# mpmath's counterpart where it isn't the function of the same name.
COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "floordiv": lambda a, b: MP.floor(a / b), "mod": lambda a, b: a - b * MP.floor(a / b), "pow": lambda a, b: a**b,
    "neg": lambda x: -x, "pos": lambda x: x, "square": lambda x: x * x, "exp2": lambda x: MP.mpf(2) ** x,
    "cbrt": lambda x: MP.sign(x) * MP.cbrt(MP.fabs(x)), "log2": lambda x: MP.log(x, 2), "abs": MP.fabs,
    "hypot": lambda a, b: MP.sqrt(a * a + b * b), "round": MP.nint, "trunc": _trunc, "fmod": lambda a, b: a - b * _trunc(a / b),
    "minimum": lambda a, b: min(a, b), "maximum": lambda a, b: max(a, b), "clip": lambda x, low, high: min(max(x, low), high),
    "log1p": lambda x: MP.log(1 + x), "expm1": lambda x: MP.exp(x) - 1, "log10": lambda x: MP.log(x) / MP.log(10),
    "degrees": lambda x: x * 180 / MP.pi, "radians": lambda x: x * MP.pi / 180, "one_minus_square": lambda x: 1 - x * x,
    "relu": lambda x: max(x, MP.zero), "leaky_relu": lambda x, slope: x if x > 0 else slope * x,
    "elu": lambda x, alpha: x if x > 0 else alpha * (MP.exp(x) - 1), "gelu": lambda x: x * MP.erfc(-x / MP.sqrt(2)) / 2,
    "sigmoid": _sigmoid, "silu": lambda x: x * _sigmoid(x), "softplus": lambda x: MP.log(1 + MP.exp(x)),
    "sinc": lambda x: MP.sin(MP.pi * x) / (MP.pi * x) if x else MP.one,
    "logaddexp": lambda a, b: MP.log(MP.exp(a) + MP.exp(b)), "strict_mul": lambda g, p: g * p, "tangent_mul": lambda t, p: t * p,
    **special_functions.COUNTERPARTS,
}  # fmt: skip

# Points where naive formulas lose their digits: tails, near kinks and near singularities.
HARD: dict[str, list[tuple[float, ...]]] = {
    "tan": [(1.57,), (-1.5,), (10.0,)],
    "asin": [(1e-10,), (0.999999999,), (-0.9999999,)],
    "acos": [(1e-10,), (0.999999999,)],
    "atanh": [(1e-10,), (0.9999999999,)],
    "acosh": [(1.0000001,), (1e10,), (1e100,)],
    "asinh": [(1e-12,), (1e10,), (-1e10,), (1e100,)],
    "atan": [(1e-9,), (1e8,), (1e60,)],
    "tanh": [(1e-10,), (20.0,), (-200.0,), (300.0,)],
    "sinc": [(1e-8,), (0.2999,), (0.3001,), (7.25,)],
    "expm1": [(1e-15,), (-40.0,), (700.0,)],
    "log1p": [(1e-15,), (-0.999999,), (1e300,)],
    "exp": [(-700.0,), (700.0,)],
    "sigmoid": [(-700.0,), (-30.0,), (30.0,), (700.0,)],
    "softplus": [(-700.0,), (-30.0,), (30.0,), (800.0,)],
    "silu": [(-600.0,), (-30.0,), (30.0,), (800.0,)],
    "gelu": [(-20.0,), (-5.0,), (1e-9,), (30.0,)],
    "cbrt": [(-8.0,), (1e-200,), (1e200,)],
    "sqrt": [(1e-200,), (1e200,)],
    "hypot": [(1e200, 1e199), (3e-200, 4e-200)],
    "square": [(1e-160,), (1e100,)],
    "atan2": [(1e-200, -1.0), (-1e200, 2e200), (0.0, 1.0)],
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
REAL = [op for op in OPS.values() if op.elementwise and op.differentiable and op.name not in COMPLEX | APART]


def counterpart(op: Op) -> Callable[..., Any]:
    return COUNTERPARTS.get(op.name) or getattr(MP, op.name)


def points(op: Op) -> list[tuple[float, ...]]:
    """Random points of the domain, and the hard ones."""
    random = np.random.default_rng(sum(map(ord, op.name)))
    n = len(op.signature.operands)
    domain = op.domain or ((-math.inf, math.inf),) * n
    ends = [(max(low, -3.0), min(high, max(low, -3.0) + 6.0)) for low, high in domain]

    def one(k: int) -> float:
        low, high = ends[k]
        return float(random.uniform(low, high)) if op.partials[k] else math.ceil(low) + float(random.integers(0, 2))

    return [tuple(map(one, range(n))) for _ in range(2 if op.name in SLOW else 6)] + HARD.get(op.name, [])


def moving(op: Op) -> list[int]:
    """The operands that aren't orders."""
    return [k for k, partial in enumerate(op.partials) if partial]


def exact(op: Op, point: tuple[float, ...], orders: tuple[int, ...]) -> Any:
    """A derivative of the counterpart; the step suits the scale of each coordinate."""
    f = counterpart(op)
    at = [MP.mpf(x) for x in point]
    active = [k for k, order in enumerate(orders) if order]
    with MP.workdps(DIGITS.get(op.name, 600)):
        for k in active:
            f = _derivative(f, k, orders[k])
        return f(*at)


def _derivative(f: Callable[..., Any], k: int, order: int) -> Callable[..., Any]:
    def slope(*at: Any) -> Any:
        h = MP.mpf(10) ** (-min(60, MP.dps // 4)) * max(MP.fabs(at[k]), MP.mpf(10) ** -10 if at[k] == 0 else 0)
        up, here, down = ([*at[:k], at[k] + s * h, *at[k + 1 :]] for s in (1, 0, -1))
        if order == 1:
            return (f(*up) - f(*down)) / (2 * h)
        return (f(*up) - 2 * f(*here) + f(*down)) / (h * h)

    return slope


def close(got: Any, want: Any, rtol: float, what: str) -> None:
    want = float(want)
    assert got == pytest.approx(want, rel=rtol, abs=1e-300), what


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_value_and_partials_have_their_digits(op: Op) -> None:
    for point in points(op):
        arrays = [np.array([x, x]) if op.partials[k] else x for k, x in enumerate(point)]
        want = exact(op, point, (0,) * len(point))
        slopes = {k: exact(op, point, tuple(int(j == k) for j in range(len(point)))) for k in moving(op)}
        # Or what rounding an operand alone does to it: 400 ulps for gelu(-20).
        condition = max((abs(float(slope * point[k] / want)) for k, slope in slopes.items() if want), default=0.0)
        rtol = max(2.2e-16 * VALUE_ULPS.get(op.name, 18), 2e-16 * condition)
        y = scalar_function(op)(*point)
        ys = array_function(CPU, op)(*arrays)
        close(y, want, rtol, f"{op.name}{point}")
        close(ys[0], want, rtol, f"{op.name}{point} on arrays")
        for k, want in slopes.items():
            rtol = 2.2e-16 * SLOPE_ULPS.get(op.name, 180)
            close(scalar_partial(op, k)(y, *point), want, rtol, f"partial {k} of {op.name}{point}")
            partial = np.broadcast_to(array_partial(CPU, op, k)(ys, *arrays), (2,))
            close(partial[0], want, rtol, f"partial {k} of {op.name}{point} on arrays")


@pytest.mark.parametrize("op", REAL, ids=lambda op: op.name)
def test_second_derivatives_have_their_digits(op: Op) -> None:
    for point in points(op)[:: 3 if op.name in SLOW else 1]:
        for j in moving(op):
            for k in range(j, len(point)):
                orders = tuple((i == j) + (i == k) for i in range(len(point)))
                want = float(exact(op, point, orders))
                scale = abs(float(exact(op, point, tuple(int(i == j) for i in range(len(point)))))) / max(abs(point[k]), 1e-9)
                for values in (point, tuple(np.array([x]) if op.partials[i] else x for i, x in enumerate(point))):
                    got = _second(op, values, j, k)
                    assert got == pytest.approx(want, rel=1e-11, abs=1e-13 * min(scale, 1.0) + 1e-300), (
                        f"d{j}d{k} {op.name}{point}"
                    )


def _second(op: Op, values: tuple[Any, ...], j: int, k: int) -> float:
    orders = op.partials.count(None)
    session = Session(*values[orders:])
    y = session.m.call(op.name, (*values[:orders], *session.operands))
    total = session.m.sum(y) if y.shape else y
    first = session.gradients(total, recorded=True)[j - orders]
    shaped = session.m.sum(first) if np.shape(values[-1]) else session.m.mul(first, 1.0)
    return float(np.sum(session.gradients(shaped)[k - orders]))
