"""What a region gives, by its kind: whether the program can get it, and as what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ir.types import Scalar
from .kinds import (
    ArrayOf,
    Kind,
    Known,
    ListOf,
    MaybeOf,
    MixedKind,
    RecordOf,
    StoredOf,
    WordOf,
)


def is_value(kind: Kind) -> bool:
    """Whether a program can get what is of this kind as numbers, and lists of these."""
    if isinstance(kind, ListOf | RecordOf):
        return all(map(is_value, kind.items))
    return isinstance(kind, Scalar | MixedKind | ArrayOf | StoredOf)


def in_python(kind: Kind, numbers: Iterator[Any]) -> Any:
    """What a program gets of a kind and the next of these numbers; an array as nested lists."""
    if isinstance(kind, ArrayOf):
        kind = _nested(kind.shape, kind.type)
    if isinstance(kind, RecordOf):
        items = [in_python(item, numbers) for item in kind.items]
        return dict(zip(kind.keys, items, strict=True))
    if isinstance(kind, ListOf):
        return [in_python(item, numbers) for item in kind.items]
    if isinstance(kind, MixedKind):
        is_int, whole, real = next(numbers), next(numbers), next(numbers)
        return whole if is_int else real
    if isinstance(kind, StoredOf):
        return next(numbers).tolist()
    return next(numbers)


def is_settled(kind: Kind) -> bool:
    """Whether a name can be given what is of this kind: numbers, strings, arrays, lists and dicts,
    of which no array is the state of a variable."""
    if isinstance(kind, ListOf | RecordOf):
        return all(map(is_settled, kind.items))
    if isinstance(kind, ArrayOf | StoredOf):
        return not kind.variable
    if isinstance(kind, Known):
        return kind.thing is None or type(kind.thing) is str
    return isinstance(kind, Scalar | MixedKind | WordOf)


def has_long_lists(kind: Kind) -> bool:
    """Whether there is a list of many numbers in what is of this kind."""
    if isinstance(kind, ListOf | RecordOf):
        return any(map(has_long_lists, kind.items))
    if isinstance(kind, MaybeOf):
        return has_long_lists(kind.kind)
    return isinstance(kind, StoredOf) and kind.listed


def _nested(shape: tuple[int, ...], item: Scalar) -> Kind:
    return ListOf((_nested(shape[1:], item),) * shape[0]) if shape else item
