"""A loop of a frame as regions: see `hot_loops.py`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...lang import program
from ...lang.program.liveness import Slots
from ..backends.backend import count, shape_of
from ..codegen.step_back import StepBack
from ..ir.instructions import Each, every
from ..lowering.frames import HEAD, Iterated, lower_loop
from ..lowering.held.flow import assigned, draws, grown, touches_variables
from ..lowering.held.kinds import is_unrecorded
from ..lowering.held.names import DRAWS, RETURNED, STOPPED
from ..lowering.variable_loops import slots_into
from ..passes.rules import NoRule
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import BREAK, RESULT, RETURN, set_slot
from .draws import draws_so_far, go_on_from
from .frame_entries import Observed, observe, slots_of
from .iterations import Items, ListRoom, Ran, Sequences
from .reach import Reach
from .region_op import REGION
from .region_values import MISSING, as_parameter, counts_in, held_of
from .variable_loop_calls import VariableLoopCalls
from .variants import Variant, Variants

TRACED = 8  # traced numbers of a list that cost as much as an iteration of the interpreter
SOME = 2**14  # iterations at a time: then values that later ones don't read can be freed


class LoopCalls:
    """Runs iterations of one loop by kernels, for values of any kinds in its frame."""

    def __init__(self, node: program.While | program.For, alive: Slots | None) -> None:
        """After the loop, the slots that are `alive` are read; all slots if that is None."""
        self._node = node
        self._site = Site(REGION, node.span)
        self._slots = {slot.index: slot for slot in slots_of(node)}
        self._assigned = list(assigned([node]))
        self._room = ListRoom([self._slots[k] for k in grown(node)])
        self._touches, self._draws = Reach(touches_variables, node), Reach(draws, node)
        self._on_variables = VariableLoopCalls(node, self._site)
        self._sequences: tuple[Any, Sequences] | None = None  # the source of the last run, and its
        self._calls = Variants(
            lambda observed, how, most: LoopCall(node, alive, observed, most, *how), head=HEAD
        )

    def run(self, frame: list[Any], rest: Items, is_counted: bool, work: float) -> Ran | int | None:
        """Runs the first iterations of `rest` by a kernel. `is_counted`: whether all of the rest
        will run. Returns the work that pays for compiling the kernel if `work` is less; None if the
        interpreter must run the rest."""
        sequences = self._sequences_of(rest)
        if sequences.over is None:
            return None
        changes = bool(self._touches)
        slots = self._slots_into if changes else self._slots.values()
        drawn = draws_so_far(frame[0]) if self._draws else []
        left = self._room.left(frame, len(rest) if is_counted else None)
        if left is None:
            return None
        most_traced = TRACED * (len(rest) if is_counted else self._room.usual)
        observed = observe(
            frame, slots, self._assigned, changes, sequences.value, drawn, self._room, most_traced
        )
        found = [reach.add(observed.functions) for reach in (self._touches, self._draws)]
        if any(found):
            return self.run(frame, rest, is_counted, work)
        some = rest[: left if self._room.slots else _at_a_time(observed)]
        over, size = sequences.over, self._room.size
        if changes:
            ended = self._on_variables.run(frame[0], over, some, rest, observed, size, work)
        else:
            calls = -(-len(rest) // len(some)) if is_counted else 1
            try:
                ended = self._run_on_values(frame[0], over, some, observed, calls, work)
            except StepBack:
                return self.run(frame, rest, is_counted, work) if self._room.enlarge() else None
        if not isinstance(ended, tuple):
            return ended
        ran, new = ended
        self._put(frame, new)
        self._room.learn(ran)
        return ran

    def _run_on_values(
        self, run: Run, over: Iterated, some: Items, observed: Observed, calls: int, work: float
    ) -> tuple[Ran, dict[int, Any]] | int | None:
        """Runs some iterations that change no variables, as `VariableLoopCalls.run` does others.
        Raises StepBack."""
        if observed.is_boxed and not run.one_record:
            return None
        call = self._calls.of(observed, (over, self._room.size), work)
        if call is None or isinstance(call, int):
            return call
        if observed.is_boxed and call.is_unrecorded:
            return None
        try:
            return call.run(run, self._site, some, observed, calls)
        except NoRule:
            return None

    @cached_property
    def _slots_into(self) -> list[program.Slot]:
        """The slots that an iteration may read, or leave as they are."""
        return [self._slots[k] for k in slots_into(self._node, self._slots.values())]

    def _sequences_of(self, items: Items) -> Sequences:
        """The sequences that the loop goes over, for its region."""
        source = items if type(items) is range else items.source
        if self._sequences is None or self._sequences[0] is not source:
            self._sequences = source, Sequences(items)
        return self._sequences[1]

    def _put(self, frame: list[Any], new: dict[int, Any]) -> None:
        """Puts the values after the iterations into the frame."""
        for slot, value in new.items():
            if slot == RETURNED:
                frame[RESULT] = value
            elif slot == DRAWS:
                go_on_from(frame[0], value)
            else:
                set_slot(frame, self._slots[slot], value)


def _at_a_time(observed: Observed) -> int:
    """The number of iterations that a kernel runs: enough that it doesn't spend its time copying
    arrays."""
    shapes = [shape_of(primal(value)) for value in observed.values]
    return max(SOME, sum([count(shape) for shape in shapes if shape]))


class LoopCall(Variant):
    """Runs iterations of a loop for values of one kind in its frame.

    is_unrecorded  whether names hold something after iterations that can't be recorded
    """

    head, flags = HEAD, 2

    def __init__(
        self,
        node: program.While | program.For,
        alive: Slots | None,
        observed: Observed,
        most: int | None,
        over: Iterated,
        room: int,
    ) -> None:
        """Raises NotCompiled, and TooLong."""
        lowered = lower_loop(node, observed.entries, over, room, observed.real, most, alive)
        super().__init__(lowered.region, lowered.regions)
        self._changed = lowered.changed
        # Where iterations copy lists with all their room, the pullback would keep the copies.
        self.is_unrecorded = any(map(is_unrecorded, self._changed.values())) or any(
            isinstance(made, Each) and room and made.size >= room
            for made in every(lowered.region.block)
        )
        self.counts = counts_in(self._changed.values(), self.flags)

    def run(
        self, run: Run, site: Site, iterations: Items, observed: Observed, calls: int
    ) -> tuple[Ran, dict[int, Any]]:
        """Runs iterations, and returns what the slots that they assign hold then. The value of a
        `return` is in `RETURNED`. About as many `calls` will be made. Raises NoRule, and
        StepBack."""
        parameters = [len(iterations), iterations.start, *map(as_parameter, observed.values)]
        ended, count, *numbers = self.results(run, site, parameters, observed.variables, calls)
        rest = iter(numbers)
        new = {slot: held_of(kind, rest) for slot, kind in self._changed.items()}
        stopped, completion = new.pop(STOPPED, False), BREAK if ended else None
        new = {slot: value for slot, value in new.items() if value is not MISSING}
        if RETURNED in new:
            completion = RETURN
        return Ran(completion, count, stopped), new
