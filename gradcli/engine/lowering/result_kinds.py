"""The kinds of a region's results: which of them the program can get, and as what."""

from __future__ import annotations

from ..ir.types import Scalar
from .held.kinds import (
    ArrayOf,
    Kind,
    Known,
    ListOf,
    ListOrArrayOf,
    MaybeOf,
    MixedOf,
    OrNoneOf,
    RecordOf,
    StoredOf,
    TableOf,
    WordOf,
    leaves_of,
)


def is_value(kind: Kind) -> bool:
    """Whether the program can get something of this kind as numbers, and lists of these."""
    if isinstance(kind, ListOf | RecordOf):
        return all(map(is_value, kind.items))
    return isinstance(kind, Scalar | MixedOf | ArrayOf | StoredOf | ListOrArrayOf)


def is_settled(kind: Kind) -> bool:
    """Whether a name can be assigned something of this kind: numbers, strings, arrays, lists and
    dicts, of which no array is the state of a variable."""
    if isinstance(kind, ListOf | RecordOf):
        return all(map(is_settled, kind.items))
    if isinstance(kind, OrNoneOf):
        return is_settled(kind.kind)
    if isinstance(kind, ListOrArrayOf):
        return not kind.array.variable
    if isinstance(kind, ArrayOf | StoredOf):
        return not kind.variable
    if isinstance(kind, Known):
        return kind.thing is None or type(kind.thing) is str
    return isinstance(kind, Scalar | MixedOf | WordOf | TableOf)


def has_long_lists(kind: Kind) -> bool:
    """Whether something of this kind has a list of many numbers, or one that may be an array."""
    if isinstance(kind, ListOf | RecordOf):
        return any(map(has_long_lists, kind.items))
    if isinstance(kind, MaybeOf | OrNoneOf):
        return has_long_lists(kind.kind)
    is_listed = isinstance(kind, StoredOf) and kind.listed
    return is_listed or isinstance(kind, TableOf | ListOrArrayOf)


def is_unrecorded(kind: Kind) -> bool:
    """Whether something of this kind has a list that isn't recorded where its numbers are traced: a
    list of arrays whose number isn't known, or one that may be an array."""
    if isinstance(kind, ListOf | RecordOf):
        return any(map(is_unrecorded, kind.items))
    if isinstance(kind, MaybeOf | OrNoneOf):
        return is_unrecorded(kind.kind)
    if isinstance(kind, TableOf):
        return any(isinstance(c, StoredOf) and not c.listed for c in leaves_of(kind.columns))
    return isinstance(kind, ListOrArrayOf)
