"""A row of a group as LLVM text: instructions whose results are kept where a mask holds."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..ir.instructions import Instruction, Pop, Push
from .llvm_blocks import Emitter, llvm_type
from .llvm_frame import BIT, INT, Frame
from .llvm_places import Places


class _RowFrame(Frame):
    """The frame where a row is computed: where the region would step back, that is noted."""

    def __init__(self, places: Places, active: Any, bad: Any) -> None:
        frame = places.frame
        self.builder, self.held, self.bottom = frame.builder, frame.held, frame.bottom
        self.arrays, self.raised, self.step_back = frame.arrays, frame.raised, frame.step_back
        self.is_masked = True
        self.active, self.bad = active, bad
        self.notes = False

    def step_back_if(self, condition: Any) -> None:
        self.notes = True
        steps = self.builder.and_(condition, self.active)
        self.builder.store(self.builder.or_(self.builder.load(self.bad), steps), self.bad)


class RowEmitter(Emitter):
    """Emits instructions for a row of a group. `active` says whether the row takes part."""

    frame: _RowFrame

    def __init__(self, places: Places, row: Any, mask: Any) -> None:
        self.places, self.row = places, row
        active = ir.Constant(BIT, 1) if mask is None else places.load(mask, row, BIT)
        places.builder.store(ir.Constant(BIT, 0), places.bad)
        frame = _RowFrame(places, active, places.bad)
        super().__init__(frame, places.guards, {}, places.called, vectors=True)
        self.active = active
        self.values = dict(places.shared)

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Push):
            for value, (place, _) in zip(
                self.read(made.entry), self.places.entry_places(made, self.row), strict=True
            ):
                self.places.store_entry(value, place)
        elif isinstance(made, Pop):
            for value, (place, kind) in zip(
                made.entry, self.places.entry_places(made, self.row), strict=True
            ):
                self.values[value] = self.places.load_entry(place, kind)
        else:
            super().instruction(made)

    def array(self, made: Any) -> None:
        """An element of a row's array; or of one that rows share, of which those that don't take
        part read the first."""
        if made.array in self.places.columns:
            place = self.places.columns[made.array](self.places.constants[made.place])
            kind = llvm_type(made.result.type)
            self.values[made.result] = self.places.load(place, self.row, kind)
            return
        array, place = self.read(made.operands)
        reads = self.builder.and_(self.active, self.builder.not_(self.builder.load(self.frame.bad)))
        place = self.builder.select(reads, place, ir.Constant(INT, 0))
        self.values[made.result] = self.arrays.element(array, place)

    def is_good(self) -> Any:
        """Whether the row hasn't stepped back."""
        make = self.builder
        return make.not_(make.or_(self._has_stepped_back(), make.load(self.frame.bad)))

    def end(self) -> None:
        """Notes a row that has stepped back."""
        if self.frame.notes:
            before, now = self._has_stepped_back(), self.builder.load(self.frame.bad)
            self.places.store(self.builder.or_(before, now), self.places.status, self.row)

    def _has_stepped_back(self) -> Any:
        return self.places.load(self.places.status, self.row, BIT)
