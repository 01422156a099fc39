"""The places in memory of the values of a group's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ...ir.instructions import Element, Pop, Push, Put, Value
from ..llvm.frame import BIT, DOUBLE, FLOAT, INT, Frame, PythonFunctions, count_up, passed
from ..llvm.guards import Guards, Stack
from ..llvm.types import in_memory, llvm_type, load, numbers_and_arrays, store
from .group_sizes import GROUP, NUMBER, PART

ANY_OF_PART = ir.IntType(8 * PART).as_pointer()  # a part of a mask, which has a byte for each row


class Entry(NamedTuple):
    """An entry of a stack: the numbers of all rows, and after these their arrays. `start` is its
    beginning; `numbers` and `arrays` are the values of a row."""

    stack: Stack
    start: Any
    numbers: Sequence[Value]
    arrays: Sequence[Value]

    @property
    def width(self) -> int:
        """The number of numbers of a row."""
        return len(self.numbers) + sum([array.array_type.size for array in self.arrays])

    def place_of(self, array: Value) -> int:
        """The number of numbers of a row before an array."""
        before = self.arrays[: self.arrays.index(array)]
        return len(self.numbers) + sum([each.array_type.size for each in before])


class Places:
    """Emits what reads and writes values of rows.

    status     the address of the byte of the group's first row, which is set where the region steps
               back
    left       the block that goes on with the next group, where all rows of this one step back
    places     the addresses of values; the values of all rows are contiguous
    shared     values that are the same for all rows
    constants  those of them that are known
    columns    functions that return the addresses of elements of arrays
    in_range   places in arrays that are the same for all rows, and are always valid
    verified   others that are the same for all rows, with the size of an array that has them
    stacks     each entry has the numbers of all rows
    bad        a variable: whether the current row has stepped back
    """

    status: Any
    left: Any

    def __init__(self, frame: Frame, guards: Guards, called: PythonFunctions) -> None:
        self.frame, self.guards, self.called = frame, guards, called
        self.builder = frame.builder
        self.places: dict[Value, Any] = {}
        self.shared: dict[Value, Any] = {}
        self.constants: dict[Value, Any] = {}
        self.columns: dict[Value, Callable[[Any], Any]] = {}
        self.in_range: set[Value] = set()
        self.verified: set[tuple[Value, int]] = set()
        self.stacks: dict[Value, Stack] = {}
        self.bad = frame.variable(BIT(0))
        self._entries: dict[int, Entry] = {}  # by the identity of a push or a pop
        module = frame.builder.module  # LLVM is told that stacks and places are apart in memory
        scope = module.add_metadata(["stacks", module.add_metadata(["memory"])])
        of_stacks = module.add_metadata([scope])
        self._apart, self._on_stack = ("noalias", of_stacks), ("alias.scope", of_stacks)

    # ---- places ----------------------------------------------------------------------------------

    def new_place(self, kind: Any) -> Any:
        """Memory for a value of each row."""
        with self.builder.goto_entry_block():
            whole = ir.ArrayType(in_memory(kind), GROUP)
            place = self.builder.bitcast(self.builder.alloca(whole), whole.element.as_pointer())
            return self.cleared(place)

    def cleared(self, place: Any) -> Any:
        """A place, with zeros stored there for all rows."""
        whole = ir.ArrayType(place.type.pointee, GROUP)
        zeros = self.builder.bitcast(place, whole.as_pointer())
        self.builder.store(ir.Constant(whole, None), zeros)
        return place

    def place_of(self, value: Value) -> Any:
        if value not in self.places:
            self.places[value] = self.new_place(llvm_type(value.type))
        return self.places[value]

    def load(self, place: Any, row: Any) -> Any:
        """The value of a row at a place."""
        return load(self.builder, self._of_row(place, row), mark=self._apart)

    def store(self, value: Any, place: Any, row: Any) -> None:
        store(self.builder, value, self._of_row(place, row), mark=self._apart)

    def load_entry(self, kind: Any, place: Any) -> Any:
        """Loads a number of an entry of a stack."""
        make = self.builder
        found = load(make, place, align=1, mark=self._on_stack)
        if kind == BIT:
            return make.trunc(found, BIT)
        return make.fptrunc(found, FLOAT) if kind == FLOAT else found

    def store_entry(self, value: Any, place: Any) -> None:
        make = self.builder
        value = make.zext(value, INT) if value.type == BIT else passed(make, value)
        store(make, value, place, align=1, mark=self._on_stack)

    def has_stepped_back(self, row: Any) -> Any:
        """Whether a row has stepped back before the current code."""
        return self.load(self.status, row)

    def verify(self, made: Element | Put) -> None:
        """Leaves the group if an array lacks a place that is the same for all its rows. A row gets
        here with such a place only if it has stepped back already."""
        known = made.place, made.array.array_type.size
        if made.place not in self.in_range and known not in self.verified:
            at_place = self.shared[made.place]
            has = self.builder.icmp_unsigned("<", at_place, INT(known[1]))
            self.frame.leave_if(self.builder.not_(has), self.left)
            self.verified.add(known)

    def has(self, array: Value, place: Value) -> bool:
        """Whether it is known that an array has a place."""
        return place in self.in_range or (place, array.array_type.size) in self.verified

    def _of_row(self, place: Any, row: Any) -> Any:
        return self.builder.gep(place, [row], inbounds=True)

    # ---- stacks ----------------------------------------------------------------------------------

    def move(self, made: Push | Pop) -> None:
        """Makes room on a stack for an entry of each row, or takes it back."""
        stack, (numbers, arrays) = self.stacks[made.stack], numbers_and_arrays(made.entry)
        room = self._room if isinstance(made, Push) else self._taken_back
        width = Entry(stack, None, numbers, arrays).width
        self._entries[id(made)] = Entry(stack, room(stack, width), numbers, arrays)

    def entry(self, made: Push | Pop) -> Entry:
        """The entry of a push or a pop."""
        return self._entries[id(made)]

    def push_counts(self, stack: Stack, counts: Any) -> None:
        """Pushes an int of each row, read from a place."""

        def push(row: Any) -> None:
            place = self.entry_place(entry, 0, row, INT)
            self.store_entry(self.load(counts, row), place)

        entry = stack, self._room(stack, 1)
        self.rows(push)

    def pop_counts(self, stack: Stack, counts: Any) -> None:
        """Pops an int of each row into a place."""

        def pop(row: Any) -> None:
            place = self.entry_place(entry, 0, row, INT)
            self.store(self.load_entry(INT, place), counts, row)

        entry = stack, self._taken_back(stack, 1)
        self.rows(pop)

    def entry_place(self, entry: tuple[Stack, Any], k: Any, row: Any, kind: Any) -> Any:
        """The address of number `k` of a row in an entry."""
        make, (stack, first) = self.builder, entry
        start = make.gep(make.load(stack.base), [first])
        k = INT(k) if isinstance(k, int) else k
        number = make.add(make.mul(k, INT(GROUP)), row)
        place = make.gep(start, [make.mul(number, INT(NUMBER))], inbounds=True)
        return make.bitcast(place, (INT if kind in (BIT, INT) else DOUBLE).as_pointer())

    def entry_places(self, entry: Entry, row: Any) -> Iterator[Any]:
        """The addresses of the numbers of a row in an entry."""
        for k, value in enumerate(entry.numbers):
            yield self.entry_place((entry.stack, entry.start), k, row, llvm_type(value.type))

    def _room(self, stack: Stack, width: int) -> Any:
        return self.guards.room(stack, _bytes(width))

    def _taken_back(self, stack: Stack, width: int) -> Any:
        make = self.builder
        start = make.sub(make.load(stack.used), _bytes(width))
        self.frame.leave_if(make.icmp_signed("<", start, INT(0)), self.frame.step_back)
        make.store(start, stack.used)
        return start

    # ---- rows ------------------------------------------------------------------------------------

    def rows(self, emit: Callable[[Any], None], mask: Any = None) -> None:
        """Emits a loop over the rows of the group. With a mask, parts of the group without a row of
        it are left out."""
        make = self.builder
        if mask is None:
            count_up(make, INT(GROUP), 1, emit)
            return

        def part(start: Any) -> None:
            bits = make.load(make.bitcast(self._of_row(mask, start), ANY_OF_PART), align=1)
            with make.if_then(make.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))):
                count_up(make, INT(PART), 1, lambda k: emit(make.add(start, k)))

        count_up(make, INT(GROUP), PART, part)


def _bytes(width: int) -> Any:
    """The bytes of an entry. All numbers have one size, whatever their types, so that LLVM sees
    that they don't overlap."""
    return INT(GROUP * NUMBER * width)
