"""Calls of functions as regions: see `hot_calls.py`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from ...diagnostics import Span
from ..codegen.step_back import StepBack
from ..lowering.frames import lower_call
from ..lowering.held.flow import draws
from ..lowering.held.kinds import is_unrecorded
from ..passes.rules import NoRule
from ..trace.run import Run
from ..trace.tape import Site
from ..values.kinds import UNSET
from .draws import draws_so_far, go_on_from
from .frame_entries import Observed, observe_values
from .plain_values import Reader, numbers_read, readers_of
from .reach import Reach
from .region_values import as_parameter, counts_in, held_of
from .variants import Variant, Variants


class FunctionCalls:
    """Makes the calls of one function by kernels, for values of any kinds."""

    def __init__(self, span: Span) -> None:
        self._calls = Variants(
            lambda observed, how, most: FunctionCall(observed, how[0], how[1], span, most)
        )
        self._draws = Reach(draws)
        # The last call: the names of arguments, the readers of all values, and the call itself.
        self._last: tuple[list[str], list[Reader], FunctionCall] | None = None

    def run(
        self,
        run: Run,
        work: int,
        site: Site,
        function: Any,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        """The result of a call; UNSET if the interpreter must make it. `work` is the work of the
        calls that the interpreter has made."""
        drawn = draws_so_far(run) if self._draws else []
        values = [function, *arguments, *named.values(), *drawn]
        try:
            last = self._last
            if last is not None and last[0] == [*named] and len(last[1]) == len(values):
                numbers = numbers_read(last[1], values)
                if numbers is not None:
                    return last[2].run(run, site, numbers)
            return self._observed(run, work, site, values, list(named), bool(drawn))
        except (StepBack, NoRule):
            return UNSET

    def _observed(
        self, run: Run, work: int, site: Site, values: list[Any], names: list[str], draws: bool
    ) -> Any:
        """The result of a call with new kinds of values: the function, the arguments, of which the
        last have `names`, and, if it `draws`, the seed and the number of draws."""
        observed = observe_values(run, values)
        if self._draws.add(observed.functions) and (drawn := draws_so_far(run)):
            return self._observed(run, work, site, [*values, *drawn], names, True)
        if observed.is_boxed and not run.one_record:
            return UNSET
        call = self._calls.of(observed, (tuple(names), draws), work)
        if call is None or isinstance(call, int):
            return UNSET
        if observed.is_boxed and call.is_unrecorded:
            return UNSET
        shared = observed.variables & call.aliases
        if not observed.is_boxed and not shared:
            self._last = names, readers_of(call.entries, values), call
        return call.run(run, site, list(map(as_parameter, observed.values)), shared)


class FunctionCall(Variant):
    """Makes the calls with values of one kind.

    entries        of the function and its arguments
    is_unrecorded  whether the result has something that can't be recorded
    """

    def __init__(
        self,
        observed: Observed,
        names: Sequence[str],
        draws: bool,
        span: Span,
        most: int | None,
    ) -> None:
        """Raises NotCompiled, and TooLong."""
        self.entries, self._draws = tuple(observed.entries.values()), draws
        function, *arguments = self.entries[:-2] if draws else self.entries
        lowered = lower_call(function, arguments, names, span, observed.real, most, draws)
        super().__init__(lowered.region, lowered.regions)
        self._kind, self.is_unrecorded = lowered.kind, is_unrecorded(lowered.kind)
        self.counts = counts_in([lowered.kind], self.flags)

    def run(
        self, run: Run, site: Site, numbers: list[Any], variables: Set[int] = frozenset()
    ) -> Any:
        """The result. `variables` are the positions of numbers that are the states of variables.
        Raises StepBack, and NoRule."""
        found = self.results(run, site, numbers, variables)
        if self._draws:
            go_on_from(run, found.pop())
        return held_of(self._kind, iter(found))
