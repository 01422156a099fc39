"""How far two values are apart: numbers, arrays, strings, and lists and dicts of these."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..engine.backends.backend import CPU, shape_of
from ..engine.values.kinds import show_shape
from .comparison import Tolerance, Worst


class Distance(NamedTuple):
    """How many elements two values have, how many of them differ, and the one that does most."""

    elements: int
    differing: int
    worst: Worst


def distances(old: Any, new: Any, tolerance: Tolerance, place: str = "") -> Iterator[Distance]:
    """The distance of two values; of lists and dicts, that of each entry."""
    if type(old) is list and type(new) is list and len(old) == len(new):
        for k, pair in enumerate(zip(old, new, strict=True)):
            yield from distances(*pair, tolerance, f"{place}[{k}]")
    elif type(old) is dict and type(new) is dict and old.keys() == new.keys():
        for key in old:
            yield from distances(
                old[key], new[key], tolerance, f"{place}[{json.dumps(key, ensure_ascii=False)}]"
            )
    elif _is_numeric(old) and _is_numeric(new) and shape_of(old) == shape_of(new):
        yield from _of_numbers(old, new, tolerance, place)
    else:
        kinds = _kind(old), _kind(new)
        differs = kinds[0] != kinds[1] or old != new
        what = f"{kinds[0]} became {kinds[1]}" if kinds[0] != kinds[1] else ""
        yield Distance(1, int(differs), Worst(place, old, new, None, what=what))


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number, or an array of numbers."""
    dtype = getattr(value, "dtype", None)
    return dtype.kind in "iufc" if dtype is not None else type(value) in (int, float, complex)


def _kind(value: Any) -> str:
    """What a value is, apart from which one."""
    if _is_numeric(value):
        shape = shape_of(value)
        return f"an array of shape {show_shape(shape)}" if shape else "a number"
    if type(value) is list:
        return f"a list of {len(value)}"
    if type(value) is dict:
        return "a dict with the keys " + ", ".join(map(json.dumps, value)) if value else "a dict"
    if value is None:
        return "none"
    return "a string" if type(value) is str else "a bool" if type(value) is bool else "bools"


def _of_numbers(old: Any, new: Any, tolerance: Tolerance, place: str) -> Iterator[Distance]:
    xp = CPU.xp
    a, b = xp.asarray(old), xp.asarray(new)
    if not a.size:
        return
    with xp.errstate(all="ignore"):
        apart = _ulps(a, b)
        differs = apart > tolerance.ulps
        if tolerance.rtol or tolerance.atol:
            near = tolerance.atol + tolerance.rtol * xp.maximum(abs(a), abs(b))
            differs &= ~((abs(a - b) <= near) & xp.isfinite(a) & xp.isfinite(b))
    k = int(xp.argmax(xp.where(differs, apart, -1.0) if differs.any() else apart))
    index = xp.unravel_index(k, a.shape)
    ulps = float(apart[index])
    at = f"{place}[{', '.join(str(int(i)) for i in index)}]" if index else place
    yield Distance(
        a.size,
        int(differs.sum()),
        Worst(at, a[index].item(), b[index].item(), ulps if math.isinf(ulps) else int(ulps)),
    )


def _ulps(a: Any, b: Any) -> Any:
    """How many floats lie between two, elementwise: 0 for equal ones, and for two that are nan; inf
    where only one is finite."""
    xp = CPU.xp
    if "c" in (a.dtype.kind, b.dtype.kind):
        return xp.maximum(_ulps(a.real, b.real), _ulps(a.imag, b.imag))
    common = xp.result_type(a, b)
    a, b = a.astype(common), b.astype(common)
    low, high = (pick(_ordinal(a), _ordinal(b)) for pick in (xp.minimum, xp.maximum))
    # the difference of two int64 needs one bit more: that of uint64 is right modulo 2**64
    apart = (high.astype(xp.uint64) - low.astype(xp.uint64)).astype(xp.float64)
    finite = xp.isfinite(a) & xp.isfinite(b)
    same = (a == b) | (xp.isnan(a) & xp.isnan(b))
    return xp.where(same, 0.0, xp.where(finite, apart, xp.inf))


def _ordinal(array: Any) -> Any:
    """Consecutive ints for consecutive floats; an int is its own."""
    xp = CPU.xp
    if array.dtype.kind != "f":
        return array.astype(xp.int64)
    bits = array.view(f"i{array.dtype.itemsize}")
    return xp.where(bits < 0, xp.iinfo(bits.dtype).min - bits, bits).astype(xp.int64)
