"""Loops that change variables, or ask for derivatives of values, as regions.

The interpreter runs the last iteration, so that what may be asked for after the loop is on the
trace. The region gives what that iteration reads of earlier ones; where it depends on variables, it
is a record of the region.
"""

from __future__ import annotations

from typing import Any

from ...lang import program
from ..codegen.step_back import StepBack
from ..lowering.frames import HEAD, Iterated
from ..lowering.held.kinds import has_long_lists
from ..lowering.held.names import NotCompiled
from ..lowering.variable_loops import FLAGS, lower_variable_loop, may_end
from ..passes.rules import NoRule
from ..trace.keeping import KeepingTrace
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.variables import attach
from ..values.boxes import primal
from ..values.kinds import BREAK
from .frame_entries import Observed
from .iterations import Items, Ran
from .region_values import MISSING, as_parameter, held_of
from .traced_lists import TracedList
from .variants import Variant, Variants

FIRST = 32  # iterations of the first call, by which the work of all is estimated


class VariableLoopCalls:
    """Runs iterations of one such loop by kernels, for values of any kinds in its frame."""

    def __init__(self, node: program.While | program.For, site: Site) -> None:
        self._site = site
        self._may_end = may_end(node)
        self._calls = Variants(
            lambda observed, how, most: VariableLoopCall(node, observed, most, *how),
            head=HEAD,
        )

    def run(
        self,
        run: Run,
        over: Iterated,
        some: Items,
        rest: Items,
        observed: Observed,
        room: int,
        work: float,
    ) -> tuple[Ran, dict[int, Any]] | int | None:
        """Runs iterations of the rest by a kernel, at most those of `some`, and updates variables.
        Lists that become longer have `room`. Returns how the iterations ended, and what slots
        hold then; otherwise what `LoopCalls.run` returns."""
        is_all = len(some) == len(rest)
        if is_all and not self._may_end:
            some = some[:-1]
        if not some or not _sees_all(run) or TracedList in map(type, observed.values):
            return None
        call = self._calls.of(observed, (over, observed.traced, room, run.once), work)
        if isinstance(call, int):
            return call
        if call is None or not (run.one_record or call.is_plain):
            return None
        calls = 1
        if not (self._may_end or room) and call.is_new:
            is_all, calls = is_all and len(some) <= FIRST, 1 + len(some) // FIRST
            some = some[:FIRST]
        try:
            return call.run(run, self._site, some, observed, is_all, calls)
        except (StepBack, NoRule):
            return None


def _sees_all(run: Run) -> bool:
    """Whether the main tape, and nothing else, records now."""
    trace = run.trace
    return (
        trace.windows == [trace.main]
        and trace.main.recording
        and not isinstance(trace, KeepingTrace)
        and run.level == run.direction_level
        and not (trace.level or trace.recorders or run.changes or run.attached)
    )


class VariableLoopCall(Variant):
    """Runs iterations of such a loop for values of one kind in its frame.

    is_new    whether it has run no iterations yet
    is_plain  whether only the states of variables, of all its results, depend on variables
    """

    head, flags = HEAD, FLAGS

    def __init__(
        self,
        node: program.While | program.For,
        observed: Observed,
        most: int | None,
        over: Iterated,
        traced: frozenset[int],
        room: int,
        once: bool,
    ) -> None:
        """Raises NotCompiled, and TooLong."""
        lowered = lower_variable_loop(
            node, observed.entries, over, traced, room, once, observed.real, most
        )
        self._states, self._changed = lowered.states, lowered.changed
        self._may_end = may_end(node)
        self.is_new = True
        self.is_plain = not lowered.moving
        if not self.is_plain and any(map(has_long_lists, lowered.changed.values())):
            raise NotCompiled("a long list that depends on variables is not compiled", node.span)
        others = {*range(len(lowered.region.block.results))} - {*lowered.moving}
        super().__init__(lowered.region, lowered.regions, others)

    def unpaid(self, depth: int, work: float) -> int:
        return super().unpaid(0 if self.is_plain else depth, work)

    def run(
        self,
        run: Run,
        site: Site,
        iterations: Items,
        observed: Observed,
        is_all: bool,
        calls: int,
    ) -> tuple[Ran, dict[int, Any]]:
        """Runs iterations, updates variables, and returns what slots hold then. `is_all`: whether
        these are all iterations, or all but the last if it is known which one that is. About as
        many `calls` will be made. Raises StepBack, and NoRule."""
        values = list(map(primal, observed.values)) if self.is_plain else observed.values
        parameters = [len(iterations), iterations.start, *map(as_parameter, values)]
        ended, count, stopped, *numbers = self.results(
            run, site, parameters, observed.variables, calls
        )
        self.is_new = False
        if ended and count == 0:
            return Ran(BREAK, 0, stopped=False), {}
        if self._may_end and (ended or (is_all and not stopped)):  # the last one runs again
            count, numbers = count - 1, numbers[len(numbers) // 2 :]
        rest = iter(numbers)
        for number, kind in self._states.items():
            variable = observed.changing[number]
            variable.state = primal(held_of(kind, rest))
            attach(run, variable)
        new = {slot: held_of(kind, rest) for slot, kind in self._changed.items()}
        stopped = stopped or ended or is_all
        return Ran(None, count, stopped), {k: v for k, v in new.items() if v is not MISSING}
