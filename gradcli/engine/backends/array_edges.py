"""Functions on arrays that NumPy computes in several ways, by shapes and processors, which differ at zeros and infinities.

Here each has the one answer that it has on floats (`scalars.py`), whatever stands beside it in the array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def power(xp: Any, a: Any, b: Any) -> Any:
    """`a ** b`; NumPy's power takes 40 times as long as a product, and small whole exponents are what people write."""
    if type(b) in (int, float) and getattr(a, "dtype", None) is not None and a.dtype.kind in "fc":
        if b == 2:
            return a * a
        if b == 3:
            return a * a * a
        if b == 4:
            square = a * a
            return square * square
        if b == 1:
            return a
        if b == -1:
            return 1.0 / a
    y = xp.power(a, b)
    if y.dtype.kind == "f" and bool((root := xp.equal(b, 0.5)).any()):  # by `sqrt`, where all exponents are that
        edge = root & ((a == 0) | (a == -math.inf))
        y = xp.where(edge, xp.abs(a), y) if bool(edge.any()) else y
    return y


def first_of_zeros(xp: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """`maximum` or `minimum`, which of two zeros takes the first: which of them NumPy's takes depends on the processor."""

    def extreme(a: Any, b: Any, out: Any = None) -> Any:
        if type(b) is float and b != 0:
            return function(a, b, out=out)
        ties = xp.equal(a, b)
        if bool(ties.any()) and not (xp.iscomplexobj(a) or xp.iscomplexobj(b)):
            ties = ties & (xp.signbit(a) != xp.signbit(b))
            if bool(ties.any()):
                y = xp.where(ties, a, function(a, b))
                if out is None:
                    return y
                out[...] = y
                return out
        return function(a, b, out=out)

    return extreme
