"""A row of a group as LLVM text: instructions whose results are stored where a mask holds."""

from __future__ import annotations

from typing import Any

from ...ir.instructions import Instruction, Pop, Push, Put, Value
from ..llvm.blocks import Emitter
from ..llvm.frame import BIT, INT, Frame
from ..llvm.types import llvm_type
from ..llvm.vectors import of_rows
from .places import Places


class GroupFrame(Frame):
    """The frame where something is computed for all rows of a group: all step back together."""

    def __init__(self, places: Places) -> None:
        frame = places.frame
        self.builder, self.held, self.bottom = frame.builder, frame.held, frame.bottom
        self.arrays, self.raised, self.step_back = frame.arrays, frame.raised, places.left
        self.each_module, self._ending, self._ends = frame.each_module, None, None


class _RowFrame(GroupFrame):
    """The frame where a row is computed. A row that would step back only notes that."""

    is_masked = True

    def __init__(self, places: Places, row: Any, active: Any) -> None:
        super().__init__(places)
        self.active, self.bad = active, places.bad
        self.places, self.row, self.notes = places, row, False

    def step_back_if(self, condition: Any) -> None:
        self.notes = True
        steps = self.builder.and_(condition, self.active)
        self.builder.store(self.builder.or_(self.builder.load(self.bad), steps), self.bad)

    def safe(self, place: Any) -> Any:
        make = self.builder
        bad = make.or_(make.load(self.bad), self.places.has_stepped_back(self.row))
        reads = make.and_(self.active, make.not_(bad))
        return make.select(reads, place, INT(0))


class RowEmitter(Emitter):
    """Emits instructions for a row of a group. `active`: whether the row takes part."""

    frame: _RowFrame

    def __init__(self, places: Places, row: Any, mask: Any) -> None:
        self.places, self.row = places, row
        active = BIT(1) if mask is None else places.load(mask, row)
        places.builder.store(BIT(0), places.bad)
        frame = _RowFrame(places, row, active)
        super().__init__(frame, places.guards, {}, places.called, of_rows)
        self.active, self.is_masked = active, mask is not None
        self.values = dict(places.shared)

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Push):
            entry = self.places.entry(made)
            places = self.places.entry_places(entry, self.row)
            for value, place in zip(self.read(entry.numbers), places, strict=True):
                self.places.store_entry(value, place)
        elif isinstance(made, Pop):
            entry = self.places.entry(made)
            places = self.places.entry_places(entry, self.row)
            for value, place in zip(entry.numbers, places, strict=True):
                self.values[value] = self.places.load_entry(llvm_type(value.type), place)
        elif isinstance(made, Put):
            self.keep(self.values[made.number], self.element_place(made.array, made.place))
        else:
            super().instruction(made)

    def keep(self, value: Any, place: Any) -> None:
        """Stores the value of the row at a place, if the row takes part."""
        if self.is_masked:
            old = self.places.load(place, self.row)
            value = self.builder.select(self.active, value, old)
        self.places.store(value, place, self.row)

    def element_place(self, array: Value, place: Value) -> Any:
        """The address of the places of an element of the rows' arrays. Rows that don't take part
        get the first element."""
        known = self.places.constants.get(place)
        if known is not None:
            return self.places.columns[array](known)
        at_place = self.values[place]
        if not self.places.has(array, place):
            at_place = self.frame.safe(at_place)
        return self.places.columns[array](at_place)

    def array(self, made: Any) -> None:
        """An element of a row's array, or of a shared one. Rows that don't take part read the first
        element of a shared one."""
        if made.array in self.places.columns:
            place = self.element_place(made.array, made.place)
            self.values[made.result] = self.places.load(place, self.row)
        elif self.places.has(made.array, made.place):
            array, place = self.read(made.operands)
            self.values[made.result] = self.arrays.element(array, place)
        else:
            super().array(made)

    def is_good(self) -> Any:
        """Whether the row hasn't stepped back."""
        make = self.builder
        return make.not_(
            make.or_(self.places.has_stepped_back(self.row), make.load(self.frame.bad))
        )

    def end(self) -> None:
        """Notes a row that has stepped back."""
        if self.frame.notes:
            before, now = self.places.has_stepped_back(self.row), self.builder.load(self.frame.bad)
            self.places.store(self.builder.or_(before, now), self.places.status, self.row)
