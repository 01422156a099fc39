"""Kinds of numbers in lanes: the dtype that each row would have alone, and rows where floats stand
for ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ops.op import Op
from ...trace.run import Run
from ...values.lanes import Group, Lanes, narrow
from ..integers import is_integer
from .separation import SeparationError, operation_group, uniform_bool

# Ops that give for ints what they give for floats of the same values.
_INTS_AS_FLOATS = frozenset(
    ("add", "sub", "mul", "neg", "pos", "abs", "square", "minimum", "maximum")
)
# The dtypes of lanes of numbers that are Python numbers in a single row. Such a number is weak: it
# takes the width of the array it meets.
_WEAK = "dl?D"


def with_row_dtypes(run: Run, primals: Sequence[Any], floats: bool = False) -> Sequence[Any]:
    """Operands cast so that the result has the dtype of a single row, where a number doesn't widen
    float32. With `floats`, numbers become floats first."""
    if floats:
        primals = [_as_float(run, v) for v in primals]
    if not any(v.dtype.char in "fF" for v in primals if hasattr(v, "dtype")):
        return primals
    weak = [type(v) is Lanes and not v.shape and v.dtype.char in _WEAK for v in primals]
    strong = [
        v.dtype
        for v, is_weak in zip(primals, weak, strict=True)
        if not is_weak and hasattr(v, "dtype")
    ]
    dtype = run.backend.xp.result_type(*strong) if strong else None
    if dtype is None or dtype.char not in "fF" or not any(weak):
        return primals
    narrow = {"D": "complex64", "d": dtype, "l": dtype, "?": "bool"}
    return [
        Lanes(v.array.astype(narrow[v.dtype.char]), v.group) if is_weak else v
        for v, is_weak in zip(primals, weak, strict=True)
    ]


def _as_float(run: Run, value: Any) -> Any:
    """An int or a bool, or lanes of them, as floats; anything else as it is."""
    if type(value) in (int, bool):
        return run.real(float(value))
    if type(value) is not Lanes or value.shape or value.dtype.char not in "l?":
        return value
    return Lanes(value.array.astype(run.settings.dtype), value.group)


def separate_by_kind(run: Run, primals: Sequence[Any]) -> None:
    """Separates rows where a power of ints is an int from those where it is a float, because the
    exponent is negative."""
    exponent = primals[1]
    if all(map(is_integer, primals)) and type(exponent) is Lanes:
        negative = (exponent.array < 0).reshape(-1, exponent.group.size).any(axis=0)
        if type(uniform_bool(run, negative, exponent.group)) is Lanes:
            raise SeparationError(exponent.group, negative.astype("int64"))


def uniform_kind(run: Run, value: Any) -> Any:
    """A value narrowed to the rows that run, as ints or as floats in all of them. Separates rows
    where it is an int from those where it is a float."""
    if type(value) is not Lanes or value.ints is None:
        return value
    value = narrow(value, operation_group(run, (value,), None))
    if value.ints is not None:
        raise SeparationError(value.group, value.ints.astype("int64"))
    return value


def int_rows(op: Op, primals: Sequence[Any], group: Group) -> Any:
    """The rows, as bools, in which an elementwise op gives ints while it gives floats in others;
    None where all rows give the same kind. Separates them for an op that gives other values for
    ints than for floats."""
    ints = all_ints(primals) if op.integers == "keep" else None
    if (
        ints is not None
        and op.name not in _INTS_AS_FLOATS
        and not (op.name == "pow" and type(primals[1]) is int and primals[1] >= 0)
    ):
        raise SeparationError(group, ints.astype("int64"))
    return ints


def all_ints(primals: Sequence[Any]) -> Any:
    """The rows, as bools, in which all operands are ints; None where that is all rows, or none."""
    ints = True
    for p in primals:
        ints = ints & (p.ints if type(p) is Lanes and p.ints is not None else is_integer(p))
    return None if type(ints) is bool or not ints.any() else ints


def with_ints(run: Run, y: Lanes, ints: Any) -> Lanes:
    """Floats that stand for ints in the rows `ints`. Separates these from the others where floats
    can't hold them exactly."""
    xp, array = run.backend.xp, y.array
    if bool((abs(array[..., ints]) >= 2 / xp.finfo(array.dtype).eps).any()):
        raise SeparationError(y.group, ints.astype("int64"))
    # an int has no negative zero
    return Lanes(xp.where(ints & (array == 0), 0.0, array), y.group, ints)
