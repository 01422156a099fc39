"""Values of the language as what a region takes, and what it gives as values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..backends.backend import CPU, shape_of
from ..regions.kinds import Kind, Known, ListOf, MaybeOf, MixedKind, RecordOf, StoredOf, WordOf
from ..values.boxes import primal
from ..values.kinds import List

MISSING = object()


def given(value: Any) -> Any:
    """What a region takes of a number, an array, or a list of many numbers."""
    return CPU.xp.array(value.items) if type(value) is List else value


def held_of(kind: Kind, numbers: Iterator[Any]) -> Any:
    """A number, an array, a list or a dict, of the next numbers and arrays; MISSING for what may
    not be there and isn't."""
    if isinstance(kind, ListOf):
        return List([held_of(item, numbers) for item in kind.items])
    if isinstance(kind, RecordOf):
        items = [held_of(item, numbers) for item in kind.items]
        return dict(zip(kind.keys, items, strict=True))
    if isinstance(kind, StoredOf) and kind.listed:
        return List(items_of(next(numbers)))
    if isinstance(kind, MaybeOf):
        is_there, held = next(numbers), held_of(kind.kind, numbers)
        return held if is_there else MISSING
    if isinstance(kind, Known):
        return kind.thing
    if isinstance(kind, WordOf):
        return kind.words[next(numbers)]
    if isinstance(kind, MixedKind):
        is_int, whole, real = islice(numbers, 3)
        return whole if is_int else real
    return next(numbers)


def items_of(array: Any) -> list[Any]:
    """The numbers of an array of one axis, as the language has them."""
    numbers = array.tolist()
    return list(map(CPU.xp.float32, numbers)) if array.dtype.char == "f" else numbers


def may_be(a: Any, b: Any) -> bool:
    """Whether two numbers are equal, or both may be nan. An array is no number."""
    a, b = primal(a), primal(b)
    return not shape_of(b) and bool(a == b or (a != a and b != b))
