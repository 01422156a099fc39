"""Where two paths meet, what they hold becomes one kind.

An int and a float become a `Mixed`, because an int is printed and divided in its own way, and may
outgrow 64 bits. A value that one of the paths lacks becomes a `Maybe`, and one that is none on one
of them an `OrNone`. Different strings become a `Word`, different functions a `Choice`. A list of
numbers and an array of as many become a `ListOrArray`. A list of numbers that one path has put in
memory is in memory on both. Lists of different lengths may become a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ops.op import Op
from ...ir.builder import Builder
from ...ir.instructions import Value
from ...ir.types import BOOL, I64, Scalar, is_float
from .columns import array_of, array_type, in_memory, is_list, table, table_of
from .kinds import (
    Array,
    Choice,
    Kind,
    Known,
    ListOrArray,
    Maybe,
    Mixed,
    OneOf,
    OrNone,
    Partly,
    Record,
    Stored,
    Table,
    Word,
    flat,
    kind_of,
    parts_of,
    rebuilt,
)
from .names import Closure, Unknown

MAX_DEPTH = 2  # of an `OrNone` in others: that of a linked list would have no end


def joined(a: Kind, b: Kind, differ: Unknown, room: int = 0) -> Kind:
    """The kind of what has kind `a` on one path and `b` on the other. `differ` if there is no such
    kind. Lists of different lengths become a table with `room` for so many items, if that isn't
    0."""
    if a == b:
        return a
    for kind in (a, b):
        if isinstance(kind, Unknown):
            return kind
    for partly in (Maybe, OrNone):
        there = [k for k in (a, b) if k != kind_of(partly.MISSING)]
        if len(there) < 2 or any(isinstance(k, partly) for k in there):
            held = [k.held if isinstance(k, partly) else k for k in there]
            both = joined(held[0], held[-1], differ, room)
            if isinstance(both, Unknown):
                return both
            return differ if partly is OrNone and _depth(both) == MAX_DEPTH else partly(BOOL, both)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple([joined(x, y, differ, room) for x, y in zip(a, b, strict=True)])
    for one, other in ((a, b), (b, a)):
        if isinstance(other, Stored) and other.listed and array_type(one) == other.type:
            return other
    if (found := table_of(a, b, room)) is not None:
        return found
    if isinstance(a, Record) and isinstance(b, Record) and a.keys == b.keys:
        pairs = zip(a.items, b.items, strict=True)
        return Record(a.keys, tuple([joined(x, y, differ, room) for x, y in pairs]))
    if isinstance(a, Array) and isinstance(b, Array):
        same = (a.shape, a.type) == (b.shape, b.type)
        return Array(a.shape, a.items, a.type, True) if same else differ
    if isinstance(a, Stored) and isinstance(b, Stored):
        return Stored(a.type, True) if a.type == b.type else differ
    first, second = array_of(a), array_of(b)
    if first is not None and second is not None and type(first) is type(second):
        both = joined(first, second, differ)
        return ListOrArray(BOOL, both) if isinstance(both, Array | Stored) else differ
    if _things(a) and _things(b):
        among = tuple(dict.fromkeys([*_things(a), *_things(b)]))
        bodies = {each.function if isinstance(each, Closure) else each for each in among}
        are_words = {type(each) is str for each in among}
        one_of = Word if True in are_words else Choice
        return one_of(I64, among) if len(bodies) == len(among) and len(are_words) == 1 else differ
    reals = [k.real if isinstance(k, Mixed) else k for k in (a, b) if k != I64]
    real = reals[0]
    is_one = isinstance(real, Scalar) and is_float(real) and reals[-1] == real
    return Mixed(BOOL, I64, real) if is_one else differ


def _things(kind: Kind) -> tuple[Any, ...]:
    """The strings, or functions, that something of a kind may be; none if it is neither."""
    if isinstance(kind, Known) and isinstance(kind.thing, str | Closure | Op):
        return (kind.thing,)
    return kind.among if isinstance(kind, OneOf) else ()


def _depth(kind: Kind) -> int:
    """How deep an `OrNone` is inside others in something of a kind."""
    if isinstance(kind, OrNone):
        return 1 + _depth(kind.held)
    parts = parts_of(kind) if isinstance(kind, tuple | Record) else ()
    return max(map(_depth, parts), default=0)


def as_kind(builder: Builder, held: Any, kind: Kind) -> Any:
    """What is held, converted to a kind that its own kind was joined to."""
    if isinstance(kind, Unknown) or kind_of(held) == kind:
        return kind if isinstance(kind, Unknown) else held
    if isinstance(kind, Table):
        return table(builder, held, kind.columns)
    if isinstance(kind, Partly):
        partly = type(kind)
        if held is partly.MISSING:
            return partly(builder.constant(False), _zero(builder, kind.held))
        if isinstance(held, partly):
            return partly(held.there, as_kind(builder, held.held, kind.held))
        return partly(builder.constant(True), as_kind(builder, held, kind.held))
    if isinstance(kind, Record):
        return Record(kind.keys, as_kind(builder, held.items, kind.items))
    if isinstance(kind, tuple):
        items = zip(held, kind, strict=True)
        return tuple([as_kind(builder, item, each) for item, each in items])
    if isinstance(kind, ListOrArray):
        if isinstance(held, ListOrArray):
            return ListOrArray(held.is_list, as_kind(builder, held.array, kind.array))
        return ListOrArray(is_list(builder, held), _as_array(builder, held, kind.array))
    if isinstance(kind, Array):
        return Array(held.shape, held.items, held.type, kind.variable)
    if isinstance(kind, Stored) and type(held) is tuple:
        return in_memory(builder, held, kind.type)
    if isinstance(kind, Stored):
        return Stored(held.value, kind.variable)
    constant = builder.constant
    if isinstance(kind, OneOf):
        own = held.among if isinstance(held, OneOf) else (held,)
        return type(kind)(_place(builder, held, own, kind.among), kind.among)
    if held.type == I64:
        assert isinstance(kind, Mixed)
        return Mixed(constant(True), held, builder.zero(kind.real))
    return Mixed(constant(False), constant(0), held)


def _place(builder: Builder, held: Any, own: Sequence[Any], among: Sequence[Any]) -> Value:
    """The place of a string or a function, one of its `own`, among others."""
    places = [builder.constant(among.index(each)) for each in own]
    place = places[0]
    for k, other in enumerate(places[1:], 1):
        is_here = builder.apply("eq", [held.place, builder.constant(k)])
        place = builder.apply("where", [is_here, other, place])
    return place


def _as_array(builder: Builder, held: Any, kind: Array | Stored) -> Any:
    """An array, or a list of numbers, as an array of a kind. Nothing connects the items of a list
    with each other."""
    if isinstance(held, Stored):
        return Stored(builder.in_form(held.value, listed=False), kind.variable)
    if isinstance(held, Array):
        return as_kind(builder, held, kind)
    if isinstance(kind, Array):
        return Array(kind.shape, tuple(flat(held)), kind.type)
    return in_memory(builder, held, kind.type)


def _zero(builder: Builder, kind: Kind) -> Any:
    """The filler for a thing that is missing."""
    return rebuilt(kind, map(builder.zero, flat(kind)))
