"""`==` for values that are not numbers: for lists, dicts, strings and none it gives one bool."""

from __future__ import annotations

from typing import Any

from ..backends.backend import shape_of
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import List, deeper, read
from ..values.lanes import Lanes, spread
from .apply import apply
from .rows.separation import SeparationError, operation_group, uniform_bool


def _is_not_number(value: Any) -> bool:
    return value is None or type(value) in (str, dict, List)


def compares_to_one_bool(a: Any, b: Any) -> bool:
    """Whether `a == b` is one bool: if one of them is none, a string or a dict, or both are lists.
    A list beside an array or a number becomes an array, as in any other operation."""
    return type(a) is type(b) is List or any(v is None or type(v) in (str, dict) for v in (a, b))


def compare(run: Run, site: Site, a: Any, b: Any) -> Any:
    """Compares any two values."""
    if site.op.name in ("eq", "ne") and compares_to_one_bool(primal(a), primal(b)):
        return same_value(run, a, b) == (site.op.name == "eq")
    return apply(run, site, (a, b))


def same_value(run: Run, a: Any, b: Any, depth: int = 0) -> bool:
    """Whether two values are equal as wholes. Raises SeparationError where that differs between
    rows."""
    a, b = primal(read(a)), primal(read(b))
    if type(a) is List and type(b) is List:
        return len(a) == len(b) and all(
            same_value(run, x, y, deeper(depth)) for x, y in zip(a, b, strict=True)
        )
    if type(a) is dict and type(b) is dict:
        return a.keys() == b.keys() and all(same_value(run, a[k], b[k], deeper(depth)) for k in a)
    if _is_not_number(a) or _is_not_number(b):
        return type(a) is type(b) and bool(a == b)
    if Lanes in (type(a), type(b)):
        return shape_of(a) == shape_of(b) and _same_value_in_rows(run, a, b)
    return shape_of(a) == shape_of(b) and bool((a == b).all() if shape_of(a) else a == b)


def _same_value_in_rows(run: Run, a: Any, b: Any) -> bool:
    group = operation_group(run, (a, b), None)
    p, q = (spread(run.backend.xp, v, group).array for v in (a, b))
    equal = uniform_bool(run, (p == q).reshape(-1, group.size).all(axis=0), group)
    if type(equal) is Lanes:
        raise SeparationError(group, equal.array.astype("int64"))
    return bool(equal)
