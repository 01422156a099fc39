"""Where the values of a group's rows are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from ..ir.instructions import Pop, Push, Value
from .llvm_blocks import llvm_type
from .llvm_frame import BIT, BYTE, INT, Frame
from .llvm_guards import Guards, Stack
from .row_groups import GROUP, NUMBER


class Places:
    """Emits what reads and writes values of rows.

    status     the address of the byte of the group's first row, which is set where the region steps
               back
    places     the addresses of values, of which those of the rows are one after the other
    shared     values that are the same for all rows
    constants  those of them that are known
    columns    what gives the addresses of the elements of arrays
    stacks     on which each entry has the numbers of all rows
    bad        a variable: whether the row that is computed has stepped back
    """

    status: Any

    def __init__(self, frame: Frame, guards: Guards, called: list[str]) -> None:
        self.frame, self.guards, self.called = frame, guards, called
        self.builder = frame.builder
        self.places: dict[Value, Any] = {}
        self.shared: dict[Value, Any] = {}
        self.constants: dict[Value, Any] = {}
        self.columns: dict[Value, Callable[[int], Any]] = {}
        self.stacks: dict[Value, Stack] = {}
        self.bad = frame.variable(ir.Constant(BIT, 0))
        self._offsets: dict[int, Any] = {}  # of entries, by the identity of a push or a pop
        module = frame.builder.module  # what LLVM is told: stacks and places are apart in memory
        scope = module.add_metadata(["stacks", module.add_metadata(["memory"])])
        self._on_stacks = module.add_metadata([scope])

    # ---- places ----------------------------------------------------------------------------------

    def new_place(self, kind: Any) -> Any:
        """Room for a value of each row."""
        with self.builder.goto_entry_block():
            whole = ir.ArrayType(BYTE if kind == BIT else kind, GROUP)
            place = self.builder.alloca(whole)
            self.builder.store(ir.Constant(whole, None), place)
            return self.builder.bitcast(place, whole.element.as_pointer())

    def place_of(self, value: Value) -> Any:
        if value not in self.places:
            self.places[value] = self.new_place(llvm_type(value.type))
        return self.places[value]

    def load(self, place: Any, row: Any, kind: Any) -> Any:
        """The value of a row at a place."""
        value = self.builder.load(self.builder.gep(place, [row], inbounds=True))
        value.set_metadata("noalias", self._on_stacks)
        return self.builder.trunc(value, BIT) if kind == BIT else value

    def store(self, value: Any, place: Any, row: Any) -> None:
        value = self.builder.zext(value, BYTE) if value.type == BIT else value
        made = self.builder.store(value, self.builder.gep(place, [row], inbounds=True))
        made.set_metadata("noalias", self._on_stacks)

    def load_entry(self, place: Any, kind: Any) -> Any:
        """A number of an entry of a stack."""
        value = self.builder.load(place, align=1)
        value.set_metadata("alias.scope", self._on_stacks)
        return self.builder.trunc(value, BIT) if kind == BIT else value

    def store_entry(self, value: Any, place: Any) -> None:
        value = self.builder.zext(value, BYTE) if value.type == BIT else value
        made = self.builder.store(value, place, align=1)
        made.set_metadata("alias.scope", self._on_stacks)

    # ---- stacks ----------------------------------------------------------------------------------

    def move(self, made: Push | Pop) -> None:
        """Makes room on a stack for an entry of each row, or takes it back."""
        make, stack = self.builder, self.stacks[made.stack]
        total = ir.Constant(INT, GROUP * sum(map(_size, made.entry)))
        if isinstance(made, Push):
            self._offsets[id(made)] = self.guards.room(stack, total)
            return
        start = make.sub(make.load(stack.used), total)
        self.frame.leave_if(make.icmp_signed("<", start, ir.Constant(INT, 0)), self.frame.step_back)
        make.store(start, stack.used)
        self._offsets[id(made)] = start

    def entry_places(self, made: Push | Pop, row: Any) -> Iterator[tuple[Any, Any]]:
        """The addresses of the numbers of a row's entry, and their types."""
        make, before = self.builder, 0
        start = make.gep(make.load(self.stacks[made.stack].base), [self._offsets[id(made)]])
        for value in made.entry:
            size, kind = _size(value), llvm_type(value.type)
            offset = make.add(
                ir.Constant(INT, before * GROUP), make.mul(row, ir.Constant(INT, size))
            )
            place = make.gep(start, [offset], inbounds=True)
            yield make.bitcast(place, (BYTE if kind == BIT else kind).as_pointer()), kind
            before += size


def _size(value: Value) -> int:
    return 1 if llvm_type(value.type) == BIT else NUMBER
