"""Conversion of lists of numbers to arrays that have no history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.backend import INT_MAX
from ..trace.run import Run
from ..values.boxes import Dual, primal
from ..values.kinds import List, Variable, deeper, describe, is_number, read
from ..values.lanes import Lanes

SCALARS = frozenset((float, int, bool))
_STACKED = frozenset((tuple, Dual, Lanes))  # what only `stack` makes an array of


def plain_array(run: Run, value: List, fail: Callable[[str, str], Any]) -> Any:
    """A list as an array without a history. Calls `fail(message, help)` for a ragged list and for
    items that are no numbers."""
    xp = run.backend.xp
    nested = _nested(value, fail)
    try:
        array = xp.array(nested, dtype=float if not nested else None)
    except (ValueError, TypeError):
        return fail(
            "the rows of the list differ in length, so it is no array",
            "give all rows the same length",
        )
    except OverflowError:
        return fail("a number of the list doesn't fit into 64 bits", "write a float, such as `2.0`")
    if array.dtype == object or array.dtype.kind not in "biufc":
        return fail(
            "the rows of the list differ in length, so it is no array",
            "give all rows the same length",
        )
    if run.settings.dtype == "float32" and array.dtype == "float64":
        array = array.astype("float32")
    verify_unsigned(array, fail)
    return array.astype("int64") if array.dtype.kind == "u" else array


def verify_unsigned(array: Any, fail: Callable[[str, str], Any]) -> None:
    """Calls `fail` for an array of unsigned integers with one that no int64 holds."""
    if array.dtype.kind == "u" and array.size and (most := int(array.max())) > INT_MAX:
        fail(f"the integer {most} doesn't fit into 64 bits", "write a float, such as `1e20`")


def _nested(value: List, fail: Callable[[str, str], Any]) -> list[Any]:
    """The primals of a list as nested Python lists."""
    nested: list[Any] = []
    for item in value:
        item = primal(read(item))
        nested.append(_nested(item, fail) if type(item) is List else number(item, fail))
    return nested


def number(item: Any, fail: Callable[[str, str], Any]) -> Any:
    """An item of a list that becomes an array; calls `fail` unless it is a number or an array."""
    value = primal(read(item))
    if not is_number(value):
        fail(f"a list with {describe(value)} in it is no array", "arrays hold numbers only")
    return item


def has_boxes(items: list[Any], depth: int) -> bool:
    """Whether items, however deep, are traced, have tangents, or differ between rows."""
    for item in items:
        if type(item) in _STACKED or (type(item) is Variable and type(item.box) in _STACKED):
            return True
        if type(item) is List and has_boxes(item.items, deeper(depth)):
            return True
    return False
