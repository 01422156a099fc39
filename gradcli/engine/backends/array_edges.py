"""Functions on arrays whose results in NumPy differ by shape and processor at zeros and infinities,
or by the type of the numbers.

Here each has the result that it has on floats (`scalars.py`), whatever the other elements of the
array are, and complex numbers beside these one that is as accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def power(xp: Any, a: Any, b: Any) -> Any:
    """Returns `a ** b`, with products for the small whole exponents that programs use, which are 40
    times as fast.
    """
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
    # NumPy uses `sqrt` where all exponents are 1/2.
    if y.dtype.kind == "f" and bool((root := xp.equal(b, 0.5)).any()):
        edge = root & ((a == 0) | (a == -math.inf))
        y = xp.where(edge, xp.abs(a), y) if bool(edge.any()) else y
    return y


def first_of_zeros(xp: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `maximum` or `minimum` such that of two zeros the first is taken; in NumPy it depends
    on the processor.
    """

    def extreme(a: Any, b: Any) -> Any:
        if type(b) is float and b != 0:
            return function(a, b)
        ties = xp.equal(a, b)
        if bool(ties.any()) and not (xp.iscomplexobj(a) or xp.iscomplexobj(b)):
            ties = ties & (xp.signbit(a) != xp.signbit(b))
            if bool(ties.any()):
                return xp.where(ties, a, function(a, b))
        return function(a, b)

    return extreme


def log1p(xp: Any, x: Any) -> Any:
    """Returns `log1p`, accurate near 0 for complex numbers, too: of these NumPy's has the error of
    `log(1 + x)`. Its real part is that of |1 + x|² = 1 + a(2 + a) + b².
    """
    if not xp.iscomplexobj(x):
        return xp.log1p(x)
    x = xp.asarray(x)
    a, b = x.real, x.imag
    near = 0.5 * xp.log1p(a * (2.0 + a) + b * b) + 1j * xp.arctan2(b, 1.0 + a)
    return xp.where(xp.abs(x) < 0.5, near, xp.log1p(x))[()]
