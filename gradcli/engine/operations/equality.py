"""`==` of what isn't numbers: of lists, dicts, strings and none it is one bool."""

from __future__ import annotations

from typing import Any

from ..backends.backend import shape_of
from ..trace.run import Run
from ..values.boxes import primal
from ..values.kinds import List, deeper, read
from ..values.lanes import Lanes, spread
from .by_rows import ApartError, agreed, joint


def _is_thing(value: Any) -> bool:
    return value is None or type(value) in (str, dict, List)


def compares_whole(a: Any, b: Any) -> bool:
    """Whether `a == b` is one bool: of none, a string or a dict with anything, and of two lists. A
    list beside an array or a number becomes an array, as in any other operation."""
    return type(a) is type(b) is List or any(v is None or type(v) in (str, dict) for v in (a, b))


def same(run: Run, a: Any, b: Any, depth: int = 0) -> bool:
    """`==` where it is one bool: of lists, dicts, strings and none. Raises ApartError where it
    differs between rows."""
    a, b = primal(read(a)), primal(read(b))
    if type(a) is List and type(b) is List:
        return len(a) == len(b) and all(
            same(run, x, y, deeper(depth)) for x, y in zip(a, b, strict=True)
        )
    if type(a) is dict and type(b) is dict:
        return a.keys() == b.keys() and all(same(run, a[k], b[k], deeper(depth)) for k in a)
    if _is_thing(a) or _is_thing(b):
        return type(a) is type(b) and bool(a == b)
    if Lanes in (type(a), type(b)):
        return shape_of(a) == shape_of(b) and _same_rows(run, a, b)
    return shape_of(a) == shape_of(b) and bool((a == b).all() if shape_of(a) else a == b)


def _same_rows(run: Run, a: Any, b: Any) -> bool:
    group = joint(run, (a, b), None)
    p, q = (spread(run.backend.xp, v, group).array for v in (a, b))
    equal = agreed(run, (p == q).reshape(-1, group.size).all(axis=0), group)
    if type(equal) is Lanes:
        raise ApartError(group, equal.array.astype("int64"))
    return bool(equal)
