"""What names and expressions hold during lowering, and its kind: the same, with types in place of
the values of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, ClassVar, TypeAlias

from ....structs import Struct
from ...ir.instructions import Value
from ...ir.types import ArrayType, Scalar
from .names import ABSENT, Absent, Closure, Members, Rows, Transform, Unknown, Variable

FEW = 16  # elements of an array that is scalars while a name holds it

Number: TypeAlias = Any  # a value of the IR, or its type in a kind


class Held(Struct):
    """Something that is made of other things, those in the fields `PARTS`."""

    PARTS: ClassVar[tuple[str, ...]]


class Mixed(Held):
    """A number that is the int `whole` where `is_int` holds, and the float `real` elsewhere."""

    PARTS = ("is_int", "whole", "real")
    is_int: Number
    whole: Number
    real: Number


class OneOf(Held):
    """One of several things that are known without running: that of `among` at `place`."""

    PARTS = ("place",)
    place: Number
    among: tuple[Any, ...]


class Word(OneOf):
    """One of several strings."""


class Choice(OneOf):
    """One of several functions: closures and builtins."""


class Partly(Held):
    """Something that is held where `there` holds, and `MISSING` elsewhere."""

    MISSING: ClassVar[Any]
    PARTS = ("there", "held")
    there: Number
    held: Any


class Maybe(Partly):
    """Something that a name may hold, or nothing."""

    MISSING = ABSENT


class OrNone(Partly):
    """Something, or none."""

    MISSING = None


class Array(Held):
    """An array of few elements, row by row, all of one type. `variable`: whether it is, or may be,
    the state of a variable. `source`: what an array without elements depends on, where that is
    known."""

    PARTS = ("items",)
    shape: tuple[int, ...]
    items: tuple[Number, ...]
    type: Scalar
    variable: bool = False
    source: Value | None = None


class Stored(Held):
    """An array of many elements, or a list of many numbers, which is one value of the IR.
    `variable`: whether it is, or may be, the state of a variable."""

    PARTS = ("value",)
    value: Number
    variable: bool = False

    @property
    def type(self) -> ArrayType:
        is_value = isinstance(self.value, Value)
        found: ArrayType = self.value.type if is_value else self.value
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def listed(self) -> bool:
        """Whether it is a list."""
        return self.type.listed


class ListOrArray(Held):
    """Numbers that are a list where `is_list` holds, and the `array` elsewhere."""

    PARTS = ("is_list", "array")
    is_list: Number
    array: Array | Stored


class Table(Held):
    """A list of items of one form, in memory. `columns` has that form; in place of a number, an
    array, or a list of numbers, it has those of all items. There may be room for more items: only
    the first `count` places are filled."""

    PARTS = ("columns", "count")
    columns: Any
    count: Number


class Record(Held):
    """A dict with known keys."""

    PARTS = ("items",)
    keys: tuple[str, ...]
    items: tuple[Any, ...]


class Known(Struct):
    """The kind of a thing that is known without running, such as a closure or a string. Strings are
    compared, of other things each is of its own kind."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known):
            return False
        a, b = self.thing, other.thing
        return a is b or (type(a) is type(b) is str and a == b)

    def __hash__(self) -> int:
        return hash(self.thing)


Kind: TypeAlias = Scalar | tuple[Any, ...] | Held | Known | Absent | Unknown


def is_many(shape: tuple[int, ...]) -> bool:
    """Whether an array that a name holds is stored as one value."""
    return prod(shape) > FEW


def array_kind(kind: ArrayType, variable: bool = False) -> Array | Stored:
    """The kind of an array of a type, which may be the state of a variable."""
    if is_many(kind.shape):
        return Stored(kind, variable)
    return Array(kind.shape, (kind.element,) * kind.size, kind.element, variable)


def parts_of(held: Any) -> Sequence[Any]:
    """The things that a list, a dict or another thing is made of."""
    if type(held) is tuple:
        return held
    return [getattr(held, name) for name in held.PARTS] if isinstance(held, Held) else ()


def with_parts(held: Any, of: Callable[[Any], Any]) -> Any:
    """What is held, with what `of` returns for a part in place of each."""
    if type(held) is tuple:
        return tuple(map(of, held))
    if not isinstance(held, Held):
        return held
    fields = {name: getattr(held, name) for name in held.NAMES}
    return type(held)(*[of(v) if name in held.PARTS else v for name, v in fields.items()])


def flat(*held: Any) -> Iterator[Any]:
    """The values in what is held, in order; the types in a kind."""
    for each in held:
        if isinstance(each, Value | Scalar | ArrayType):
            yield each
        else:
            yield from flat(*parts_of(each))


def kind_of(held: Any) -> Any:
    """The kind of what is held."""
    if isinstance(held, Value):
        return held.type
    if isinstance(held, Array):  # whatever its source
        return Array(held.shape, tuple(map(kind_of, held.items)), held.type, held.variable)
    if type(held) is tuple or isinstance(held, Held):
        return with_parts(held, kind_of)
    return held if isinstance(held, Absent | Unknown) else Known(held)


def rebuilt(kind: Any, values: Iterator[Any]) -> Any:
    """A thing of a kind, made of the next of these values; a kind, made of types."""
    if isinstance(kind, Scalar | ArrayType):
        return next(values)
    if isinstance(kind, Known):
        return kind.thing
    return with_parts(kind, lambda part: rebuilt(part, values))


def fresh(kind: Kind) -> Any:
    """A thing of a kind, made of new values that nothing defines yet."""
    return rebuilt(kind, map(Value, flat(kind)))


def items_in(held: tuple[Any, ...] | Record) -> tuple[Any, ...]:
    """The items of a list or a dict."""
    return held if isinstance(held, tuple) else held.items


def leaves(held: Any) -> Iterator[Any]:
    """The things in lists and dicts, at any depth, in order; the kinds in the kind of one."""
    if isinstance(held, tuple | Record):
        for item in items_in(held):
            yield from leaves(item)
    else:
        yield held


def has_functions(held: Any) -> bool:
    """Whether there may be functions or variables in what is held."""
    is_one = isinstance(held, Closure | Choice | Transform | Rows | Members | Variable)
    return is_one or any(map(has_functions, parts_of(held)))


def plain(held: Any) -> Any:
    """What is held, or a kind, without the mark of the state of a variable."""
    if isinstance(held, Stored):
        return Stored(held.value)
    if isinstance(held, Array):
        return Array(held.shape, held.items, held.type)
    return with_parts(held, plain) if isinstance(held, tuple | Record | OrNone) else held


def without_variable(held: Any) -> Any:
    """An array without the mark of the state of a variable; anything else as it is."""
    return plain(held) if isinstance(held, Array | Stored) else held


# ---- results -------------------------------------------------------------------------------------


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
        return any(not (isinstance(c, Stored) and c.listed) for c in leaves(kind.columns))
    return isinstance(kind, ListOrArray) or any(map(is_unrecorded, parts_of(kind)))
