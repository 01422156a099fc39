"""Values of the language as entries of a region: the numbers that it takes, and what it is
specialised on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...lang import program
from ...lang.program.walks import own_nodes
from ...ops.op import Op
from ..backends.backend import CPU
from ..ir.types import I64, OF_DTYPE, ArrayType, Scalar, has_floats
from ..lowering.entries import (
    UNASSIGNED,
    Entry,
    FunctionEntry,
    KnownInt,
    MembersEntry,
    NoEntry,
    TransformEntry,
    VariableEntry,
)
from ..lowering.functions.transforms import FORWARD, REVERSE, SECOND
from ..lowering.held.flow import assigned
from ..lowering.held.kinds import FEW, Known, Record, Stored, Table
from ..lowering.held.names import DRAWS, SEED, SEQUENCE
from ..lowering.values.arrays import MAX_ELEMENTS
from ..trace.run import Run
from ..values.boxes import Dual, is_of, primal
from ..values.contents import variables
from ..values.kinds import (
    FRAME_HEAD,
    UNSET,
    Function,
    Instance,
    List,
    Members,
    Transform,
    Variable,
    read,
    slot_value,
)
from .iterations import ListRoom
from .region_values import (
    as_parameter,
    columns_with_room,
    is_long,
    list_type,
    scalar_type,
)
from .traced_lists import TracedList, depth_in

MAX_DEPTH = 8  # of functions that captured functions, and lists in lists


def slots_of(node: program.Statement) -> list[program.Slot]:
    """The slots of a frame that a statement reads or assigns."""
    found = {slot.index: slot for slot in assigned([node])}
    for inner in own_nodes([node]):
        if isinstance(inner, program.Read):
            found[inner.slot.index] = inner.slot
        elif isinstance(inner, program.FunctionLiteral):
            found |= {outside.index: outside for outside, _ in inner.function.captures}
    return list(found.values())


class Observed(NamedTuple):
    """What the slots of a frame hold at the moment, or the values of a call.

    entries    by slot, or by position
    values     the numbers and arrays that the region takes, one for each parameter, still traced or
               with tangents
    depth      how many derivatives are computed through one of these, at most
    variables  the positions of numbers that are the states of variables
    traced     the positions of the others that are traced or have tangents
    changing   the variables whose states may change, in the order of their numbers
    functions  the functions of the program among the values
    real       the type of the run's floats
    """

    entries: dict[int, Entry]
    values: list[Any]
    depth: int
    variables: frozenset[int]
    traced: frozenset[int]
    changing: list[Variable]
    functions: list[program.Function]
    real: Scalar

    @property
    def is_boxed(self) -> bool:
        """Whether some of the values are traced or have tangents."""
        return self.depth > 0


def observe(
    frame: list[Any],
    slots: Iterable[program.Slot],
    assigned: Iterable[program.Slot],
    changes: bool,
    sequence: Any,
    draws: Sequence[int],
    room: ListRoom,
    most_traced: int,
) -> Observed:
    """The content of slots of a frame, and of those that functions in them read. Some slots are
    `assigned`; `changes`: whether states of variables may change. A `sequence` that a loop goes
    over gets a slot of its own, and so do the seed and the number of `draws`. Some lists
    become longer, and have `room`. A list with traced numbers is an entry if
    it has no more than `most_traced`."""
    cells = {id(frame[s.index + FRAME_HEAD]) for s in assigned if s.cell}
    observer = _Observer(frame[0], frame, cells)
    observer.changes, observer.room, observer.most_traced = changes, room, most_traced
    observer.assigned = {slot.index for slot in assigned}
    entries = {} if sequence is UNSET else {SEQUENCE: observer.entry(sequence, 0)}
    entries |= zip((SEED, DRAWS), observer.entries(draws, 0), strict=False)
    return observer.observed({slot.index: slot for slot in slots}, entries)


def observe_values(run: Run, values: Sequence[Any]) -> Observed:
    """The values of a call, and what functions among them read."""
    observer = _Observer(run, [], set())
    entries = dict(enumerate(observer.entries(values, 0)))
    return observer.seen(entries)


class _Observer:
    """Observes values. `frame` is the frame of the region, which assigns those of its names that
    share some `cells` with functions. `changes`: whether states of variables may change."""

    def __init__(self, run: Run, frame: list[Any], cells: set[int]) -> None:
        self.real = OF_DTYPE[run.settings.dtype]
        # The arrays of the run's device, and those that lists of numbers become.
        self.arrays = (run.backend.ndarray, CPU.ndarray)
        self.frame, self.cells, self.changes = frame, cells, False
        self.values: list[Any] = []
        self.depth = 0
        self.variables: set[int] = set()
        self.traced: set[int] = set()
        self.changing: list[Variable] = []
        self.functions: list[program.Function] = []
        self.slots: dict[int, program.Slot] = {}  # to be observed; functions add theirs
        self.assigned: set[int] = set()  # slots of the frame that the region assigns
        self.room: ListRoom | None = None  # of the lists that become longer
        # Numbers of a list with traced ones, at most: each of these is an operand of the record.
        self.most_traced = 0

    def observed(self, slots: dict[int, program.Slot], entries: dict[int, Entry]) -> Observed:
        self.slots = slots
        while waiting := [slot for k, slot in self.slots.items() if k not in entries]:
            for slot in waiting:
                value, changes = slot_value(self.frame, slot), slot.index in self.assigned
                entry = self.growing(slot, value) or self.entry(value, 0, changes)
                entries[slot.index] = entry
        return self.seen(entries)

    def seen(self, entries: dict[int, Entry]) -> Observed:
        return Observed(
            entries,
            self.values,
            self.depth,
            frozenset(self.variables),
            frozenset(self.traced - self.variables),
            self.changing,
            self.functions,
            self.real,
        )

    def entry(self, value: Any, depth: int, is_assigned: bool = False) -> Entry:
        if self.changes and type(value) is Variable and value.kind in ("var", "frozen"):
            return self.variable(value)
        is_variable, value = type(value) is Variable, read(value)
        number = primal(value)
        scalar = scalar_type(type(number))
        if not self.is_of_run(scalar):
            return NoEntry("a number in another float type than the run's is not compiled")
        if scalar is not None and is_of(value, type(number)):
            self.variables.update([len(self.values)] * is_variable)
            return self.taken(value, scalar)
        if type(number) in self.arrays and number.size and number.ndim:
            kind = OF_DTYPE.get(number.dtype.name)
            if kind is not None and self.is_of_run(kind) and is_of(value, type(number)):
                return self.taken(value, Stored(ArrayType(kind, number.shape), is_variable))
        if value is UNSET:
            return UNASSIGNED
        if isinstance(value, Op) or type(value) is str or value is None:
            return Known(value)
        if type(value) is List and (whole := self.long_list(value, is_assigned)):
            return self.taken(as_parameter(value), Stored(whole))
        if type(value) is List and len(value) > FEW and (table := self.table(value)):
            return table
        if depth < MAX_DEPTH and type(value) is List and len(value) <= MAX_ELEMENTS:
            return tuple(self.entries(value.items, depth))
        if depth < MAX_DEPTH and type(value) is dict and len(value) <= MAX_ELEMENTS:
            return Record(tuple(value), tuple(self.entries(value.values(), depth)))
        if depth < MAX_DEPTH and isinstance(value, Members) and self.frame:
            return self.members(value, depth)
        if depth < MAX_DEPTH and type(value) is Function and value.code.members is None:
            return self.function(value, depth)
        if depth < MAX_DEPTH and type(value) is Transform:
            return self.transform(value, depth)
        return NoEntry("this value is not compiled")

    def is_of_run(self, kind: Scalar | None) -> bool:
        """Whether regions of the run have numbers of this type."""
        return kind is None or has_floats(self.real, kind)

    def long_list(self, value: List, is_assigned: bool) -> ArrayType | None:
        """The type of a list that is one parameter, which the region only reads; None for other
        lists. Such a list has many numbers, or many lists of numbers of one length; if it is
        assigned, so many that they can't be items of their own."""
        kind = list_type(value, self.most_traced) if len(value) > FEW else None
        if kind is None or not is_long(kind) or not self.is_of_run(kind.element):
            return None
        return kind if not is_assigned or len(value) > MAX_ELEMENTS else None

    def table(self, value: List) -> Entry | None:
        """A list of many items of one form; None if they have several."""
        size = KnownInt(len(value))
        return self.with_columns(value, size.value, size)

    def growing(self, slot: program.Slot, value: Any) -> Entry | None:
        """A list that becomes longer; None for anything else, or if it can't be a table."""
        room = self.room
        if room is None or slot.index not in room.slots or type(value) is not List:
            return None
        return self.with_columns(value, room.size, I64) if value.items else None

    def with_columns(self, value: List, room: int, size: Scalar | KnownInt) -> Entry | None:
        """A list with items of one form as a table with room. None if it can't be one."""
        columns = columns_with_room(value, room, self.most_traced)
        if columns is None:
            return None
        kind, arrays = columns
        for array in arrays:
            self.take(array)
        self.take(len(value))
        return Table(kind, size)

    def variable(self, variable: Variable) -> Entry:
        """A variable whose state may change."""
        for number, known in enumerate(self.changing):
            if known is variable:
                return VariableEntry(number, variable.trainable, None)
        if variable.watchers or variable.req:
            return NoEntry(
                "a variable that is watched, or has a gradient attached, is not compiled"
            )
        state = self.entry(variable.box, 0)
        if isinstance(state, Stored):
            state = Stored(state.type, variable=True)
        elif not isinstance(state, Scalar):
            return state
        self.traced.discard(len(self.values) - 1)
        self.changing.append(variable)
        return VariableEntry(len(self.changing) - 1, variable.trainable, state)

    def members(self, value: Members, depth: int) -> Entry:
        """An import, or an instance of a module."""
        held = dict(value.members())
        items = tuple(self.entries(held.values(), depth))
        found = None
        if self.changes and type(value) is Instance:
            found = tuple(self.entries([each for _, each in variables(value)], depth))
        return MembersEntry(value.slots, tuple(held), items, found)

    def transform(self, value: Transform, depth: int) -> Entry:
        function = self.entry(value.function, depth + 1)
        usual = (
            value.mode == "auto" and not value.sparse and value.kind in REVERSE + FORWARD + SECOND
        )
        if not usual or not isinstance(function, FunctionEntry | TransformEntry | Known):
            return NoEntry("this derivative is not compiled")
        positions, listed = tuple(value.positions), isinstance(value.wrt, list)
        return TransformEntry(value.kind, function, positions, listed)

    def taken(self, value: Any, entry: Scalar | Stored) -> Entry:
        """Adds a value to the parameters; returns its entry."""
        self.take(value)
        return entry

    def take(self, value: Any) -> None:
        """Adds a value to the parameters."""
        if type(value) in (tuple, Dual, TracedList):
            # at least 1: what only `watch` has asked for counts as no derivative yet
            self.depth = max(self.depth, depth_in(value), 1)
            self.traced.add(len(self.values))
        self.values.append(value)

    def entries(self, values: Iterable[Any], depth: int) -> Iterator[Entry]:
        return (self.entry(value, depth + 1) for value in values)

    def function(self, value: Function, depth: int) -> Entry:
        """A function. If it was made in this frame, its names are those of the frame."""
        node = value.code.node
        self.functions.append(node)
        outside = [slot for slot, _ in node.captures]
        cells = value.cells[: len(outside)]  # an opaque function has another one, for its rule
        captured = None
        if self.frame and all(map(self.is_own, outside, cells)):
            self.slots = {**self.slots, **{slot.index: slot for slot in outside}}
        elif not self.cells.isdisjoint(map(id, cells)):
            return NoEntry("a function of another frame reads names that this one assigns")
        else:
            captured = tuple(self.entries([cell[0] for cell in cells], depth))
        defaults = tuple(self.entries(value.defaults, depth))
        return FunctionEntry(node, captured, defaults, id(node))

    def is_own(self, slot: program.Slot, cell: Any) -> bool:
        """Whether a slot of the frame shares its value with a function by this cell."""
        place = slot.index + FRAME_HEAD
        return place < len(self.frame) and self.frame[place] is cell
