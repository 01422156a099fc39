"""The special functions in mpmath, the points where naive formulas lose their digits, and how many
each may lose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath

MP = mpmath.mp.clone()
MP.dps = 50

Point = tuple[float, ...]


def _log_beta(a: Any, b: Any) -> Any:
    return MP.loggamma(a) + MP.loggamma(b) - MP.loggamma(a + b)


def _gamma_density(a: Any, x: Any) -> Any:
    return MP.exp((a - 1) * MP.log(x) - x - MP.loggamma(a))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return MP.exp((a - 1) * MP.log(x) + (b - 1) * MP.log(1 - x) - _log_beta(a, b))


def _gammainc(a: Any, x: Any) -> Any:
    return MP.gammainc(a, 0, x, regularized=True)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return MP.betainc(a, b, 0, x, regularized=True)


def _derived(function: Callable[..., Any], *which: int) -> Callable[..., Any]:
    """A function of orders and arguments: the derivative of those orders by the arguments
    `which`."""

    def derivative(*at: Any) -> Any:
        orders, at = at[: len(which)], at[len(which) :]
        if not any(orders):
            return function(*at)

        def moved(*values: Any) -> Any:
            return function(
                *[values[which.index(k)] if k in which else x for k, x in enumerate(at)]
            )

        if len(which) == 1:
            return MP.diff(moved, at[which[0]], int(orders[0]))
        return MP.diff(moved, tuple(at[k] for k in which), tuple(map(int, orders)))

    return derivative


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "ndtr": lambda x: MP.erfc(-x / MP.sqrt(2)) / 2,
    "ndtri": lambda p: -MP.sqrt(2) * _erfcinv(2 * p),
    "expit": lambda x: 1 / (1 + MP.exp(-x)),
    "logit": lambda x: MP.log(x / (1 - x)),
    "xlogy": lambda x, y: x * MP.log(y) if x else x,
    "xdivy": lambda x, y: x / y if x else x,
    "bell": lambda x, scale: MP.exp(-scale * x * x),
    "lgamma": lambda x: MP.log(abs(MP.gamma(x))),
    "polygamma": lambda n, x: MP.psi(int(n), x),
    "polygamma_difference": lambda n, a, b: MP.psi(int(n), a + b) - MP.psi(int(n), a),
    "beta": lambda a, b: MP.exp(_log_beta(a, b)) if a > 0 else MP.beta(a, b),
    "lbeta": lambda a, b: _log_beta(a, b) if a > 0 else MP.log(abs(MP.beta(a, b))),
    "zeta_by_x": lambda n, x, q: MP.zeta(x, q, int(n)) if q != 1 else _derived(MP.zeta, 0)(n, x),
    "zeta": lambda x, q: MP.zeta(x, q) if q != 1 else MP.zeta(x),
    "gammainc": _gammainc,
    "betainc": _betainc,
    "gamma_density": _derived(_gamma_density, 0),
    "beta_density": _derived(_beta_density, 0, 1),
    "gammainc_by_a": _derived(_gammainc, 0),
    "betainc_by_ab": _derived(_betainc, 0, 1),
    "i0": lambda x: MP.besseli(0, x),
    "i1": lambda x: MP.besseli(1, x),
    "bessel_i": lambda n, x: MP.besseli(int(n), x),
}


def _erfcinv(x: Any) -> Any:
    """By Newton's steps from a good start; mpmath's erfinv gives up in the tail."""
    y = MP.mpf(0) if x == 1 else (1 if x < 1 else -1) * MP.sqrt(-MP.log(min(x, 2 - x) / 2))
    for _ in range(200):
        step = (MP.erfc(y) - x) * MP.sqrt(MP.pi) / 2 * MP.exp(y * y)
        y += step / (1 - step * y)  # Halley's
        if abs(step) <= abs(y) * MP.mpf(10) ** (2 - MP.dps):
            break
    return y


HARD: dict[str, list[Point]] = {
    "erf": [(1e-12,), (3.0,), (5.3,)],
    "erfc": [(-3.0,), (2.7,), (5.0,), (10.0,), (14.142135623730951,), (20.3,), (26.4,)],
    "erfinv": [(1e-10,), (0.9999999,), (-0.999999999999,)],
    "ndtr": [(-37.3,), (-20.0,), (-8.1,), (1e-10,), (8.0,)],
    "ndtri": [(1e-300,), (1e-17,), (0.0037840802228439408,), (0.01,), (0.5000001,),
        (0.9999999999,)],
    "expit": [(-700.0,), (30.0,)],
    "logit": [(1e-300,), (0.2499,), (0.4999999,), (0.5000001,), (0.9999999,)],
    "xlogy": [(0.0, 2.0), (1e-300, 1e-300), (1e200, 1.0000001)],
    "xdivy": [(0.0, 2.0), (1e-100, 1e-100)],
    "bell": [(37.3, 0.5), (-26.1, 1.0), (99.0, 0.5)],
    "gamma": [(1e-8,), (0.5,), (-1.5,), (30.5,), (150.3,)],
    "lgamma": [(1e-8,), (0.95,), (1.1,), (1.43,), (1.4999999,), (1.55,), (2.3,), (-1.5,), (100.5,),
        (1e10,)],
    "digamma": [(1e-5,), (0.3,), (10.3,), (1e6,), (-0.7,), (-5.2,), (-5.05,), (-0.9999999999,)],
    "polygamma": [(1.0, 1e-5), (1.0, 1e6), (1.0, 1e200), (2.0, -0.7), (3.0, -5.2), (5.0, 30.5)],
    "polygamma_difference": [(0.0, 1e6, 2.0), (0.0, 1.0, 1e-10), (0.0, 2.5, 1e8), (1.0, 3.0, -1e-5),
        (2.0, 1e-3, 1e3)],
    "beta": [(1e-3, 1.0), (1e5, 2.0), (60.5, 30.5), (0.3, 200.0), (-1.5, 0.7)],
    "lbeta": [(1000.0, 2.0), (1e-8, 1.0), (1e10, 3.5), (1e6, 1e5), (1e-250, 1e-240), (-1.5, 0.7)],
    "zeta": [(1.5, 1.0), (1.0000001, 1.0), (60.0, 1.0), (2.0, 1e-5), (19.4, 511.0), (0.3, 1.0),
        (-0.7, 1.0), (-9.5, 1.0)],
    "zeta_by_x": [(1.0, 1.5, 1.0), (2.0, 9.0, 511.0), (1.0, -2.5, 1.0), (3.0, 2.0, 0.01)],
    "gammainc": [(10.0, 0.1), (0.5, 30.0), (200.0, 190.0), (1e-3, 1e-3)],
    "gamma_density": [(0.0, 1e6, 1.0001e6), (0.0, 18.0, 1e-4), (1.0, 50.0, 60.0),
        (2.0, 1e-6, 0.01)],
    "gammainc_by_a": [(1.0, 18.0, 1e-3), (1.0, 300.0, 310.0), (1.0, 0.5, 30.0), (2.0, 1e-6, 0.01),
        (1.0, 1e-3, 1e-6)],
    "betainc": [(2.0, 5.0, 0.9), (80.0, 1.1, 0.6), (0.01, 0.02, 0.3), (200.0, 300.0, 0.4)],
    "beta_density": [(0.0, 0.0, 300.0, 600.0, 0.35), (0.0, 0.0, 3.0, 1e6, 5e-6),
        (1.0, 1.0, 0.01, 20.0, 0.2)],
    "betainc_by_ab": [
        (0.0, 1.0, 2.0, 5.0, 0.9), (1.0, 0.0, 200.0, 300.0, 0.37), (2.0, 0.0, 1e-4, 5.5, 0.2),
        (1.0, 1.0, 30.0, 0.01, 0.98),
    ],
    "i0": [(1e-6,), (-20.0,), (100.0,), (700.0,)],
    "i1": [(0.0,), (1e-6,), (7.9,), (8.1,), (700.0,)],
    "bessel_i": [(2.0, 1e-6), (2.0, -24.9), (3.0, 25.1), (5.0, 40.0), (4.0, 705.0)],
}  # fmt: skip

# Digits to differentiate with: mpmath takes long over these, or has as many digits as asked for
# behind the point only.
DIGITS = {
    "gammainc": 60, "betainc": 60, "gammainc_by_a": 60, "betainc_by_ab": 60, "gamma_density": 60,
    "beta_density": 60,
    "zeta": 200, "zeta_by_x": 200, "gamma": 100, "lgamma": 100, "digamma": 100, "beta": 100,
    "lbeta": 100, "polygamma": 100,
    "polygamma_difference": 100, "i0": 60, "i1": 60, "bessel_i": 60,
}  # fmt: skip

SLOW = {"betainc", "betainc_by_ab", "beta_density", "zeta", "zeta_by_x"}  # in mpmath
