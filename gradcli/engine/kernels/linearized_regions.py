"""How derivatives go through the record of a region."""

from __future__ import annotations

from typing import Any

from ..ad.sweep import Sweep
from ..codegen.step_back import StepBack
from ..passes.rules import NoRule
from ..trace.pullbacks import Linearized, Passed
from ..trace.run import Run
from ..trace.tape import Site
from .traced_lists import NumberPlaces, apart, picked, put


class LinearizedRegion(Linearized):
    """The options of a region's record.

    call      the region (`RegionCall`), which was called with `values`; about so many `calls` like
              it there are
    operands  which numbers and arrays among the parameters are the record's operands, and `outputs`
              which among the results are its results
    """

    __slots__ = ("_call", "_calls", "_operands", "_outputs", "_values")

    def __init__(
        self,
        call: Any,
        values: list[Any],
        operands: NumberPlaces,
        outputs: NumberPlaces,
        calls: int,
    ) -> None:
        self._call, self._values, self._calls = call, values, calls
        self._operands, self._outputs = operands, outputs

    def pull(self, sweep: Sweep, record: Passed) -> None:
        """Pulls the cotangents of the results back to the record's inputs."""
        values, site = list(self._values), record.site
        if sweep.recorded:
            numbers = zip(picked(values, self._operands), record.inputs, strict=True)
            put(values, self._operands, [(x, n, sweep.segment.holder(n)) for x, n in numbers])
        is_final = not sweep.recorded and not self._call.is_derived
        active = tuple(self._operands)
        call, cotangents = self._call.pullback(active, self._outputs, record.g, is_final)
        values += cotangents
        try:
            found = call.apply(sweep.run, site, values, self._calls)
        except (StepBack, MemoryError):  # for want of memory: the region itself did not
            found = self.pulled_in_blocks(sweep.run, site, values, call)
        shares: list[Any] = []
        for own, c, connected in zip(self._operands.values(), found[::2], found[1::2], strict=True):
            shares += apart(c, connected, own)
        for n, share in zip(record.inputs, shares, strict=True):
            if share is not None and (sweep.marked is None or n in sweep.marked):
                sweep.add(n, share)

    @property
    def code(self) -> Any:
        return self._call

    def reads(self, result: int, operand: int) -> tuple[Any, Any] | None:
        if any(own is not None for own in (*self._operands.values(), *self._outputs.values())):
            return None
        pairs: tuple[Any, Any] | None = self._call.reads(
            [*self._outputs][result], operand, self._values
        )
        return pairs

    def pushes(self, operands: tuple[int, ...]) -> bool:
        active = tuple(self._operands)
        try:
            self._call.forward(active, self._call.takes_lists(active))
        except NoRule:
            return False
        return True

    def push(self, run: Run, site: Site, along: list[Any]) -> list[Any]:
        """The tangents of the results."""
        try:
            _, _, tangents = self._call.pushed(
                run, site, self._values, self._operands, along, self._calls
            )
        except StepBack:  # for want of memory: the region itself did not
            raise MemoryError from None
        return [t for k in self._outputs for t in tangents[k]]

    def pulled_in_blocks(self, run: Run, site: Site, values: list[Any], call: Any) -> list[Any]:
        """The cotangents, computed with loops in blocks."""
        try:
            found: list[Any] = call.in_blocks.apply(run, site, values, self._calls)
        except StepBack:
            raise MemoryError from None
        return found
