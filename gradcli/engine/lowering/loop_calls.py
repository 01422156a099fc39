"""A loop of a frame as regions that are called: see `long_loops.py`."""

from __future__ import annotations

from typing import Any

from ...lang import program
from ..backends.backend import CPU
from ..codegen.python import StepBack
from ..passes.aliases import returned_parameters
from ..passes.rules import NoRule
from ..regions.frame_loops import HEAD, lower_loop
from ..regions.names import NotCompiled
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import FRAME_HEAD
from .frame_entries import Observed, observe, slots_of
from .fusion import MAX_VARIANTS
from .region_calls import REGION, RegionCall
from .region_values import held_of, numbers_of

SOME = 2**14  # iterations at a time, after which values that no later one reads are freed


class LoopCalls:
    """What runs iterations of a loop, whatever its frame holds.

    only_gradients  whether the program asks for no more than gradients; otherwise the interpreter
                    runs iterations on traced values
    """

    def __init__(self, node: program.While | program.For, only_gradients: bool) -> None:
        self._node, self._only_gradients = node, only_gradients
        self._site = Site(REGION, node.span)
        self._slots = {slot.index: slot for slot in slots_of(node)}
        self._calls: dict[Any, LoopCall | None] = {}

    def run(self, frame: list[Any], rest: range) -> tuple[bool, int] | None:
        """Runs the first iterations of the rest by a kernel. Returns whether the loop ended with
        one of them, and how many they were; None if the interpreter must run them."""
        observed = observe(frame, self._slots.values())
        if observed.is_boxed and not self._only_gradients:
            return None
        call, done = self._call(observed, rest.step), _at_a_time(observed)
        if call is None or not observed.variables.isdisjoint(call.aliases):
            return None  # an alias of a variable is the variable
        try:
            ended, new = call.run(frame[0], self._site, rest[:done], observed.values)
        except (StepBack, NoRule):
            return None
        for slot, value in new.items():
            if self._slots[slot].cell:
                frame[slot + FRAME_HEAD][0] = value
            else:
                frame[slot + FRAME_HEAD] = value
        return ended, done

    def _call(self, observed: Observed, step: int) -> LoopCall | None:
        """The region for what a frame holds; None where there is none."""
        key = (tuple(observed.entries.items()), step)
        if key not in self._calls and len(self._calls) < MAX_VARIANTS:
            try:
                self._calls[key] = LoopCall(self._node, observed, step)
            except NotCompiled:
                self._calls[key] = None
        return self._calls.get(key)


def _at_a_time(observed: Observed) -> int:
    """How many iterations a kernel runs: not so few that it mostly copies arrays."""
    arrays = [v for v in map(primal, observed.values) if type(v) is CPU.ndarray]
    return max(SOME, sum([int(array.size) for array in arrays]))


class LoopCall:
    """What runs iterations of a loop, for what its frame holds.

    aliases  the positions of the numbers that names may be the same as after iterations
    """

    def __init__(self, node: program.While | program.For, observed: Observed, step: int) -> None:
        """Raises NotCompiled."""
        loop = lower_loop(node, observed.entries, step)
        self._changed = loop.changed
        self._call = RegionCall(loop.region, loop.regions)
        region = self._call.region
        self.aliases = {k - HEAD for k in returned_parameters(region, region.block.results[1:])}

    def run(
        self, run: Run, site: Site, iterations: range, values: list[Any]
    ) -> tuple[bool, dict[int, Any]]:
        """Whether the loop ended with one of these iterations, and what the slots that it assigns
        hold then. Raises StepBack, and NoRule."""
        size = len(iterations)
        numbers = [number for value in values for number in numbers_of(run, site, value)]
        given = self._call.apply(run, site, [size, iterations.start, *numbers])
        rest = iter(given[1:])
        new = {slot: held_of(run, site, kind, rest) for slot, kind in self._changed.items()}
        return bool(given[0]), new
