"""The kinds of a region's results: which of them the program can get, and as what."""

from __future__ import annotations

from ..ir.types import Scalar
from .held.kinds import (
    Array,
    Kind,
    Known,
    ListOrArray,
    Mixed,
    OrNone,
    Record,
    Stored,
    Table,
    Word,
    leaves,
    parts_of,
)


def is_value(kind: Kind) -> bool:
    """Whether the program can get something of this kind as numbers, and lists of these."""
    if isinstance(kind, tuple | Record):
        return all(map(is_value, parts_of(kind)))
    return isinstance(kind, Scalar | Mixed | Array | Stored | ListOrArray)


def is_settled(kind: Kind) -> bool:
    """Whether a name can be assigned something of this kind: numbers, strings, arrays, lists and
    dicts, of which no array is the state of a variable."""
    if isinstance(kind, tuple | Record | OrNone):
        return all(map(is_settled, parts_of(kind)))
    if isinstance(kind, ListOrArray):
        return not kind.array.variable
    if isinstance(kind, Array | Stored):
        return not kind.variable
    if isinstance(kind, Known):
        return kind.thing is None or type(kind.thing) is str
    return isinstance(kind, Scalar | Mixed | Word | Table)


def has_long_lists(kind: Kind) -> bool:
    """Whether something of this kind has a list of many numbers, or one that may be an array."""
    is_listed = isinstance(kind, Stored) and kind.listed
    is_one = is_listed or isinstance(kind, Table | ListOrArray)
    return is_one or any(map(has_long_lists, parts_of(kind)))


def is_unrecorded(kind: Kind) -> bool:
    """Whether something of this kind has a list that isn't recorded where its numbers are traced: a
    list of arrays whose number isn't known, or one that may be an array."""
    if isinstance(kind, Table):
        return any(isinstance(c, Stored) and not c.listed for c in leaves(kind.columns))
    return isinstance(kind, ListOrArray) or any(map(is_unrecorded, parts_of(kind)))
