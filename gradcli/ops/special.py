"""Special functions. Arrays of those that NumPy lacks come from SciPy (`scipy.special:erf`), read on first use."""

from __future__ import annotations

import math
from typing import Any

from .op import Op

ROOT_PI = math.sqrt(math.pi)


def _op(name: str, params: str, summary: str, **facts: Any) -> Op:
    return Op(name, params, summary, category="special", **facts)


def _chosen(m: Any, difference: Any) -> Any:
    """exp(a) / (exp(a) + exp(b)) from a - b; half where both are the same infinity."""
    return m.where(m.isnan(difference), 0.5, m.sigmoid(difference))


OPS = [
    _op("erf", "x", "The error function.", primitive="scipy.special:erf", partials=(
        lambda m, y, x: 2.0 / ROOT_PI * m.exp(-x * x),)),
    _op("erfc", "x", "1 - erf(x), accurate for large x.", primitive="scipy.special:erfc", partials=(
        lambda m, y, x: -2.0 / ROOT_PI * m.exp(-x * x),)),
    _op("logaddexp", "a, b", "log(exp(a) + exp(b)), without overflow.", partials=(
        lambda m, y, a, b: _chosen(m, a - b),
        lambda m, y, a, b: _chosen(m, b - a))),
]  # fmt: skip
