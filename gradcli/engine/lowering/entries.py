"""Entries: what the names of a frame hold when a region is entered, as far as the region is
specialised on it. An entry is a kind, which may have ints that decide shapes, bounds of slices and
powers, and entries of its own for variables, functions and imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeAlias

from ...lang import program
from ...ops.op import Op
from ...structs import Struct, field
from ..ir.builder import Builder
from ..ir.instructions import Block, Value
from ..ir.types import I64, ArrayType, Scalar
from .functions.expressions import Expressions
from .held.kinds import Held, Known, Stored, with_parts
from .held.names import ABSENT, Closure, Members, Name, Transform, Unknown, UnknownInt


class VariableEntry(Held):
    """The variable `number` of the region, whose state may change. `state` is None if an entry
    before has the state."""

    PARTS = ("state",)
    number: int
    trainable: bool
    state: Entry | None


class MembersEntry(Held):
    """An import, or an instance of a module: the names that have values, the entries of these
    values, and the entries of the variables that an instance lists, if their states may change."""

    PARTS = ("items", "variables")
    slots: dict[str, program.Slot] = field(compare=False)
    names: tuple[str, ...]
    items: tuple[Entry, ...]
    variables: tuple[Entry, ...] | None


class FunctionEntry(Held):
    """A function of the program. `captured` are the values from the place where it was made; None
    if that is the frame of the region, whose names it reads. `identity` tells functions apart, by
    their place in the program."""

    PARTS = ("captured", "defaults")
    function: program.Function = field(compare=False)
    captured: tuple[Entry, ...] | None
    defaults: tuple[Entry, ...]
    identity: int


class TransformEntry(Held):
    """A derivative of a function, as `names.Transform` has it."""

    PARTS = ("function",)
    kind: str
    function: FunctionEntry | TransformEntry | Known
    wrt: tuple[int, ...]
    listed: bool


class KnownInt(Struct):
    """An int that the region is specialised on. It is also a parameter, which nothing uses."""

    value: int


class NoEntry(Struct):
    """The entry of a name without a value, or with one that isn't compiled. `reason` says why."""

    reason: str


# A scalar is the entry of a number that is a parameter of the region.
Entry: TypeAlias = Scalar | tuple[Any, ...] | Held | Known | KnownInt | NoEntry
Parameter: TypeAlias = Scalar | ArrayType | KnownInt  # a part of an entry
UNASSIGNED = NoEntry("")


def mapped(entry: Any, of: Callable[[Parameter], Parameter]) -> Any:
    """An entry with `of` each parameter, in order, in place of that."""
    if isinstance(entry, Parameter):
        return of(entry)
    return with_parts(entry, lambda part: mapped(part, of))


def parameters_of(entry: Entry) -> list[Scalar | ArrayType]:
    """The types of the parameters for an entry, in order."""
    found: list[Scalar | ArrayType] = []

    def note(part: Parameter) -> Parameter:
        found.append(I64 if isinstance(part, KnownInt) else part)
        return part

    mapped(entry, note)
    return found


def enter(lowering: Expressions, entry: Entry, parameters: Iterator[Value]) -> object:
    """What a name with an entry holds. The entry takes the next of the parameters."""
    if isinstance(entry, Scalar):
        return next(parameters)
    if isinstance(entry, Stored):
        array = Stored(next(parameters), entry.variable)
        return array if array.listed else lowering.few_apart(array)
    if isinstance(entry, VariableEntry):
        if entry.state is not None:
            state = enter(lowering, entry.state, parameters)
            lowering.given_variables.append(lowering.variable(state, entry.trainable))
        return lowering.given_variables[entry.number]
    if isinstance(entry, Known):
        return entry.thing
    if isinstance(entry, KnownInt):
        next(parameters)
        return lowering.builder.constant(entry.value)
    if isinstance(entry, NoEntry):
        return ABSENT if entry is UNASSIGNED else Unknown(entry.reason, None)
    if isinstance(entry, MembersEntry):
        return _members(lowering, entry, parameters)
    if isinstance(entry, TransformEntry):
        function = enter(lowering, entry.function, parameters)
        assert isinstance(function, Closure | Transform | Op)
        return Transform(entry.kind, function, entry.wrt, entry.listed)
    if not isinstance(entry, FunctionEntry):  # a list, a dict or a table
        return with_parts(entry, lambda part: enter(lowering, part, parameters))
    frame = lowering.frame
    if entry.captured is not None:
        frame = lowering.names.new_frame()
        outside = [Name(frame, slot.index) for slot, _ in entry.function.captures]
        captured = [enter(lowering, part, parameters) for part in entry.captured]
        lowering.names.put(outside, captured)
    defaults = [enter(lowering, part, parameters) for part in entry.defaults]
    return Closure(entry.function, frame, tuple(map(lowering.names.hidden, defaults)))


def _members(lowering: Expressions, entry: MembersEntry, parameters: Iterator[Value]) -> Members:
    frame, slots = lowering.names.new_frame(), [entry.slots[name] for name in entry.names]
    held = [enter(lowering, item, parameters) for item in entry.items]
    lowering.names.put([Name(frame, slot.index) for slot in slots], held)
    if entry.variables is None:
        return Members(frame, entry.slots)
    found = [enter(lowering, item, parameters) for item in entry.variables]
    return Members(frame, entry.slots, tuple(found))


@contextmanager
def naming_parameters(builder: Builder, block: Block) -> Iterator[None]:
    """Notes in an `UnknownInt` which parameters of the region decide the int."""
    try:
        yield
    except UnknownInt as unknown:
        sources = builder.sources(unknown.value)
        if sources <= set(block.parameters):
            unknown.parameters = {block.parameters.index(value) for value in sources}
        raise


def specialised(entries: Iterable[Entry], known: Mapping[int, int]) -> list[Entry]:
    """The entries with `known` ints in place of the parameters at some positions."""
    positions = count()

    def of(part: Parameter) -> Parameter:
        k = next(positions)
        return KnownInt(known[k]) if k in known else part

    return [mapped(entry, of) for entry in entries]
