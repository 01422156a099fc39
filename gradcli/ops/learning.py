"""Activations and losses of machine learning."""

from __future__ import annotations

import math
from typing import Any

from .op import Op

INF = math.inf
REAL = (-INF, INF)
ROOT_HALF = math.sqrt(0.5)
ROOT_2PI = math.sqrt(2.0 * math.pi)


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="learning", **facts)


def _silu_slope(m: Any, y: Any, x: Any) -> Any:
    return m.sigmoid(x) * (1.0 + x * m.sigmoid(-x))


OPS = [
    _op("relu", "x", "x where it is positive, 0 elsewhere.", integers="keep", domain=((0.1, INF),), note="derivative 0 at 0",
        forward=lambda m, x: m.maximum(x, 0), partials=(lambda m, y, x: m.where(x > 0, 1.0, 0.0),)),
    _op("leaky_relu", "x, slope=0.01", "x where it is positive, slope * x elsewhere.", domain=((-INF, -0.1), REAL),
        note="derivative slope at 0", forward=lambda m, x, slope: m.where(x > 0, x, slope * x), partials=(
        lambda m, y, x, slope: m.where(x > 0, 1.0, slope),
        lambda m, y, x, slope: m.where(x > 0, 0.0, x))),
    _op("elu", "x, alpha=1.0", "x where it is positive, alpha * (exp(x) - 1) elsewhere.", domain=((-INF, -0.1), REAL),
        note="derivative alpha at 0", forward=lambda m, x, alpha: m.where(x > 0, x, alpha * m.expm1(x)), partials=(
        lambda m, y, x, alpha: m.where(x > 0, 1.0, alpha * m.exp(x)),
        lambda m, y, x, alpha: m.where(x > 0, 0.0, m.expm1(x)))),
    _op("gelu", "x", "x times the normal distribution function (the erf form).",
        forward=lambda m, x: 0.5 * x * m.erfc(-ROOT_HALF * x), partials=(
        lambda m, y, x: 0.5 * m.erfc(-ROOT_HALF * x) + x * m.exp(-0.5 * x * x) / ROOT_2PI,)),
    _op("silu", "x", "x * sigmoid(x).", aliases=("swish",), forward=lambda m, x: x * m.sigmoid(x), partials=(_silu_slope,)),
    _op("sigmoid", "x", "1 / (1 + exp(-x)).", aliases=("logistic",),
        forward=lambda m, x: 1.0 / (1.0 + m.exp(-x)), partials=(lambda m, y, x: y * m.sigmoid(-x),)),
    _op("softplus", "x", "log(1 + exp(x)), without overflow.",
        forward=lambda m, x: m.maximum(x, 0.0) + m.log1p(m.exp(-m.abs(x))), partials=(lambda m, y, x: m.sigmoid(x),)),
]  # fmt: skip
