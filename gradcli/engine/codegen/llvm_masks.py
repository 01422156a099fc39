"""A row of a group as LLVM text: instructions whose results are kept where a mask holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from ..ir.instructions import Instruction, Pop, Push
from .llvm_blocks import Emitter
from .llvm_frame import BIT, INT, Frame
from .llvm_places import Places
from .llvm_types import llvm_type
from .llvm_vectors import of_rows


class _RowFrame(Frame):
    """The frame where a row is computed: where the region would step back, that is noted."""

    is_masked = True

    def __init__(self, places: Places, active: Any) -> None:
        frame = places.frame
        self.builder, self.held, self.bottom = frame.builder, frame.held, frame.bottom
        self.arrays, self.raised, self.step_back = frame.arrays, frame.raised, frame.step_back
        self.active, self.bad = active, places.bad
        self.notes = False

    def step_back_if(self, condition: Any) -> None:
        self.notes = True
        steps = self.builder.and_(condition, self.active)
        self.builder.store(self.builder.or_(self.builder.load(self.bad), steps), self.bad)

    def safe(self, place: Any) -> Any:
        reads = self.builder.and_(self.active, self.builder.not_(self.builder.load(self.bad)))
        return self.builder.select(reads, place, ir.Constant(INT, 0))


class RowEmitter(Emitter):
    """Emits instructions for a row of a group. `active` says whether the row takes part."""

    frame: _RowFrame

    def __init__(self, places: Places, row: Any, mask: Any) -> None:
        self.places, self.row = places, row
        active = ir.Constant(BIT, 1) if mask is None else places.load(mask, row)
        places.builder.store(ir.Constant(BIT, 0), places.bad)
        frame = _RowFrame(places, active)
        super().__init__(frame, places.guards, {}, places.called, of_rows)
        self.active = active
        self.values = dict(places.shared)

    def instruction(self, made: Instruction) -> None:
        if isinstance(made, Push):
            for value, place in zip(self.read(made.entry), self._places(made), strict=True):
                self.places.store_entry(value, place)
        elif isinstance(made, Pop):
            for value, place in zip(made.entry, self._places(made), strict=True):
                self.values[value] = self.places.load_entry(llvm_type(value.type), place)
        else:
            super().instruction(made)

    def _places(self, made: Push | Pop) -> Iterator[Any]:
        return self.places.entry_places(self.places.entry(made), self.row)

    def array(self, made: Any) -> None:
        """An element of a row's array; or of one that rows share, of which those that don't take
        part read the first."""
        if made.array in self.places.columns:
            place = self.places.columns[made.array](self.places.constants[made.place])
            self.values[made.result] = self.places.load(place, self.row)
            return
        super().array(made)

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
        return self.places.load(self.places.status, self.row)
