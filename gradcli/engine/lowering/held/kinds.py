"""Kinds: what names and expressions hold during lowering, apart from the values in it; and how it
is made of a kind and values again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import Any, TypeAlias

from ....ops.op import Op
from ....structs import Entity, Struct
from ...ir.instructions import Value
from ...ir.types import BOOL, I64, ArrayType, Scalar
from .names import Absent, Closure, Members, Rows, Transform, Unknown, Variable

FEW = 16  # elements of an array that is scalars while a name holds it


class Mixed(Entity):
    """A number that is the int `whole` where `is_int` holds, and the float `real` elsewhere."""

    is_int: Value
    whole: Value
    real: Value


class Word(Entity):
    """One of several strings: the one of `words` at `place`."""

    place: Value
    words: tuple[str, ...]


class Choice(Entity):
    """One of several functions: the one of `functions` at `place`."""

    place: Value
    functions: tuple[Closure | Op, ...]


class Maybe(Entity):
    """Something that is held only where `there` holds."""

    there: Value
    held: Any


class OrNone(Entity):
    """What is held where `there` holds, and none elsewhere."""

    there: Value
    held: Any


class Array(Entity):
    """An array of few elements, row by row, all of one type. `variable`: whether it is, or may be,
    the state of a variable. `source`: what an array without elements depends on, where that is
    known."""

    shape: tuple[int, ...]
    items: tuple[Value, ...]
    type: Scalar
    variable: bool = False
    source: Value | None = None


class Stored(Entity):
    """An array of many elements, or a list of many numbers, which is one value of the IR.
    `variable`: whether it is, or may be, the state of a variable."""

    value: Value
    variable: bool = False

    @property
    def type(self) -> ArrayType:
        return self.value.array_type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def listed(self) -> bool:
        """Whether it is a list."""
        return self.type.listed


class ListOrArray(Entity):
    """Numbers that are a list where `is_list` holds, and the `array` elsewhere."""

    is_list: Value
    array: Array | Stored


class Table(Entity):
    """A list of items of one form, in memory. `columns` has that form; in place of a number, an
    array, or a list of numbers, it has those of all items. There may be room for more items: only
    the first `count` places are filled."""

    columns: Any
    count: Value


class Record(Entity):
    """A dict with known keys."""

    keys: tuple[str, ...]
    items: tuple[Any, ...]


# ---- kinds ---------------------------------------------------------------------------------------


class MixedOf(Struct):
    """The kind of a `Mixed`, by the type of its float."""

    type: Scalar


class WordOf(Struct):
    """The kind of a `Word`, by the strings that it may be."""

    words: tuple[str, ...]


class ChoiceOf(Struct):
    """The kind of a `Choice`, by the functions that it may be."""

    functions: tuple[Closure | Op, ...]


class MaybeOf(Struct):
    """The kind of a `Maybe`, by the kind of what it holds."""

    kind: Kind


class OrNoneOf(Struct):
    """The kind of an `OrNone`, by the kind of what it holds if that isn't none."""

    kind: Kind


class ListOf(Struct):
    """The kind of a list, by those of its items."""

    items: tuple[Kind, ...]


class ArrayOf(Struct):
    """The kind of an `Array`."""

    shape: tuple[int, ...]
    type: Scalar
    variable: bool = False


class StoredOf(Struct):
    """The kind of a `Stored`."""

    type: ArrayType
    variable: bool = False

    @property
    def listed(self) -> bool:
        """Whether it is a list."""
        return self.type.listed


class ListOrArrayOf(Struct):
    """The kind of a `ListOrArray`, by that of the array."""

    array: ArrayOf | StoredOf


class TableOf(Struct):
    """The kind of a `Table`, by that of its columns."""

    columns: Kind


class RecordOf(Struct):
    """The kind of a dict, by its keys and the kinds of its items."""

    keys: tuple[str, ...]
    items: tuple[Kind, ...]


class Known(Entity):
    """A kind of its own for each thing that is known without running: a closure, a string."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known):
            return False
        a, b = self.thing, other.thing
        return a is b or (type(a) is type(b) is str and a == b)

    __hash__ = None  # type: ignore[assignment]


Kind: TypeAlias = (
    Scalar
    | MixedOf
    | MaybeOf
    | OrNoneOf
    | ListOf
    | RecordOf
    | ArrayOf
    | StoredOf
    | ListOrArrayOf
    | TableOf
    | WordOf
    | ChoiceOf
    | Known
    | Absent
    | Unknown
)


def is_many(shape: tuple[int, ...]) -> bool:
    """Whether an array that a name holds is stored as one value."""
    return prod(shape) > FEW


def array_kind(kind: ArrayType, variable: bool = False) -> ArrayOf | StoredOf:
    """The kind of an array of a type, which may be the state of a variable."""
    if is_many(kind.shape):
        return StoredOf(kind, variable)
    assert isinstance(kind.element, Scalar)
    return ArrayOf(kind.shape, kind.element, variable)


def kind_of(held: Any) -> Kind:
    if isinstance(held, Value):
        assert isinstance(held.type, Scalar)
        return held.type
    if type(held) is tuple:
        return ListOf(tuple([kind_of(item) for item in held]))
    if isinstance(held, Record):
        return RecordOf(held.keys, tuple([kind_of(item) for item in held.items]))
    if isinstance(held, Array):
        return ArrayOf(held.shape, held.type, held.variable)
    if isinstance(held, Stored):
        return StoredOf(held.type, held.variable)
    if isinstance(held, ListOrArray):
        return ListOrArrayOf(kind_of(held.array))  # type: ignore[arg-type]
    if isinstance(held, Table):
        return TableOf(kind_of(held.columns))
    if isinstance(held, Mixed):
        assert isinstance(held.real.type, Scalar)
        return MixedOf(held.real.type)
    if isinstance(held, Word):
        return WordOf(held.words)
    if isinstance(held, Choice):
        return ChoiceOf(held.functions)
    if isinstance(held, Maybe):
        return MaybeOf(kind_of(held.held))
    if isinstance(held, OrNone):
        return OrNoneOf(kind_of(held.held))
    return held if isinstance(held, Absent | Unknown) else Known(held)


# ---- values --------------------------------------------------------------------------------------


def flat(*held: Any) -> Iterator[Value]:
    """The IR values in what is held, in order."""
    for each in held:
        if isinstance(each, Value):
            yield each
        elif isinstance(each, tuple | Record):
            yield from flat(*(each if isinstance(each, tuple) else each.items))
        elif isinstance(each, Array):
            yield from each.items
        elif isinstance(each, Stored):
            yield each.value
        elif isinstance(each, ListOrArray):
            yield each.is_list
            yield from flat(each.array)
        elif isinstance(each, Table):
            yield from flat(each.columns, each.count)
        elif isinstance(each, Mixed):
            yield from (each.is_int, each.whole, each.real)
        elif isinstance(each, Word | Choice):
            yield each.place
        elif isinstance(each, Maybe | OrNone):
            yield each.there
            yield from flat(each.held)


def leaves(held: Any) -> Iterator[Any]:
    """The things in lists and dicts, at any depth, in order."""
    if isinstance(held, tuple | Record):
        for item in held if isinstance(held, tuple) else held.items:
            yield from leaves(item)
    else:
        yield held


def leaves_of(kind: Kind) -> Iterator[Kind]:
    """The kinds of the things in lists and dicts, at any depth; another kind itself."""
    if isinstance(kind, ListOf | RecordOf):
        for item in kind.items:
            yield from leaves_of(item)
    else:
        yield kind


def types_of(kind: Kind) -> Iterator[Scalar | ArrayType]:
    """The types of the IR values in something of a kind."""
    if isinstance(kind, Scalar):
        yield kind
    elif isinstance(kind, ListOf | RecordOf):
        for item in kind.items:
            yield from types_of(item)
    elif isinstance(kind, ArrayOf):
        yield from [kind.type] * prod(kind.shape)
    elif isinstance(kind, StoredOf):
        yield kind.type
    elif isinstance(kind, ListOrArrayOf):
        yield BOOL
        yield from types_of(kind.array)
    elif isinstance(kind, TableOf):
        yield from types_of(kind.columns)
        yield I64
    elif isinstance(kind, MixedOf):
        yield from (BOOL, I64, kind.type)
    elif isinstance(kind, WordOf | ChoiceOf):
        yield I64
    elif isinstance(kind, MaybeOf | OrNoneOf):
        yield BOOL
        yield from types_of(kind.kind)


def rebuilt(kind: Kind, values: Iterator[Value]) -> Any:
    """A thing of a kind, made of the next of these values."""
    if isinstance(kind, Scalar):
        return next(values)
    if isinstance(kind, ListOf):
        return tuple([rebuilt(item, values) for item in kind.items])
    if isinstance(kind, RecordOf):
        return Record(kind.keys, tuple([rebuilt(item, values) for item in kind.items]))
    if isinstance(kind, ArrayOf):
        return Array(kind.shape, tuple(islice(values, prod(kind.shape))), kind.type, kind.variable)
    if isinstance(kind, StoredOf):
        return Stored(next(values), kind.variable)
    if isinstance(kind, ListOrArrayOf):
        return ListOrArray(next(values), rebuilt(kind.array, values))
    if isinstance(kind, TableOf):
        return Table(rebuilt(kind.columns, values), next(values))
    if isinstance(kind, MixedOf):
        return Mixed(next(values), next(values), next(values))
    if isinstance(kind, WordOf):
        return Word(next(values), kind.words)
    if isinstance(kind, ChoiceOf):
        return Choice(next(values), kind.functions)
    if isinstance(kind, MaybeOf):
        return Maybe(next(values), rebuilt(kind.kind, values))
    if isinstance(kind, OrNoneOf):
        return OrNone(next(values), rebuilt(kind.kind, values))
    return kind.thing if isinstance(kind, Known) else kind


def fresh(kind: Kind) -> Any:
    """A thing of a kind, made of new values that nothing defines yet."""
    return rebuilt(kind, iter([Value(scalar) for scalar in types_of(kind)]))


def has_functions(held: Any) -> bool:
    """Whether there may be functions or variables in what is held."""
    if isinstance(held, tuple | Record):
        return any(map(has_functions, held if isinstance(held, tuple) else held.items))
    if isinstance(held, Maybe | OrNone):
        return has_functions(held.held)
    return isinstance(held, Closure | Choice | Transform | Rows | Members | Variable)


def without_variable(held: Any) -> Any:
    """What is held; the state of a variable that is an array becomes a plain array."""
    if isinstance(held, Stored):
        return Stored(held.value)
    return Array(held.shape, held.items, held.type) if isinstance(held, Array) else held


def plain(kind: Kind) -> Kind:
    """A kind of numbers, without the mark of the state of a variable."""
    if isinstance(kind, ListOf):
        return ListOf(tuple(map(plain, kind.items)))
    if isinstance(kind, RecordOf):
        return RecordOf(kind.keys, tuple(map(plain, kind.items)))
    if isinstance(kind, StoredOf):
        return StoredOf(kind.type)
    if isinstance(kind, OrNoneOf):
        return OrNoneOf(plain(kind.kind))
    return ArrayOf(kind.shape, kind.type) if isinstance(kind, ArrayOf) else kind
