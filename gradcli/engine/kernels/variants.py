"""The regions of one place of the program: one for each kind of values found there.

Lowering takes about as much time, at most, as the work done at the place: beyond that it is given
up, and tried again after several times the work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from ..backends.tiers import NO_LIMIT, policy
from ..codegen.step_back import StepBack
from ..ir.builder import TooLong
from ..ir.instructions import Region
from ..lowering.entries import specialised
from ..lowering.held.names import NotCompiled, UnknownInt
from ..passes.arrays.ownership import returned_parameters
from ..passes.calls import Regions
from ..trace.run import Run
from ..trace.tape import Site
from .frame_entries import Observed
from .region_calls import RegionCall, cost_of
from .region_values import may_be

MAX_VARIANTS = 4  # kinds of values at a place; the interpreter runs it for others
TRIED_AGAIN = 4  # times the work at the last try
PARTS = 4  # about how many times as large a region with its pullback is


class Priced(Protocol):
    """Code made for a place."""

    def unpaid(self, depth: int, work: float) -> int:
        """The work that pays for compiling it with derivatives nested to this depth; 0 if `work`
        does, or has done in an earlier call."""


class Variant:
    """The region of a place, lowered for values of one kind. Its pullback, the pullback of that,
    and so on, are compiled with it."""

    head = 0  # the parameters before those of the values
    flags = 0  # the results before those that the program gets

    def __init__(self, region: Region, regions: Regions, untraced: Set[int] = frozenset()) -> None:
        """`regions` has those that it may call; the results at positions `untraced` are never
        recorded."""
        self.counts: dict[int, int] = {}  # as for `RegionCall`
        self._region, self._regions, self._untraced = region, regions, untraced
        self._cost, self._paid = cost_of(region, regions), -1  # the depth that is paid for

    @cached_property
    def _call(self) -> RegionCall:
        return RegionCall(self._region, self._regions, self._untraced, counts=self.counts)

    def unpaid(self, depth: int, work: float) -> int:
        cost: int = self._cost * PARTS**depth
        if depth > self._paid and work < cost:
            return cost
        self._paid = max(self._paid, depth)
        return 0

    @cached_property
    def aliases(self) -> set[int]:
        """The positions of the values that what the program gets may alias."""
        region = self._call.region
        found = returned_parameters(region, region.block.results[self.flags :])
        return {k - self.head for k in found}

    def results(
        self, run: Run, site: Site, parameters: list[Any], variables: Set[int], calls: int = 1
    ) -> list[Any]:
        """The results. `variables` are the positions of the values that are the states of
        variables. About as many `calls` like this one will be made.

        Raises NoRule, and StepBack; also where a result may be such a state, since an alias of a
        variable is the variable itself.
        """
        found = self._call.apply(run, site, parameters, calls)
        states = [parameters[self.head + k] for k in variables & self.aliases]
        if any(may_be(state, number) for state in states for number in found[self.flags :]):
            raise StepBack
        return found


Made = TypeVar("Made", bound=Priced)


class Variants(Generic[Made]):
    """The code that `make` returns for entries observed at a place and for options, within a number
    of instructions.

    head  how many parameters of a region stand before those of the entries
    """

    def __init__(self, make: Callable[[Observed, Any, int | None], Made], head: int = 0) -> None:
        self._make, self._head = make, head
        self._made: dict[Hashable, Made | None] = {}
        self._needed: dict[Hashable, set[int]] = {}  # positions of ints that must be known
        self._later = 0  # the work after which lowering is tried again

    def of(self, observed: Observed, options: Any, work: float = NO_LIMIT) -> Made | int | None:
        """The code for entries and options, after so much work at the place. If that doesn't pay
        for it, the work that does; None where it isn't compiled."""
        key = (tuple(observed.entries.items()), options)
        if key in self._needed:
            return self.of(_specialised(observed, self._needed[key]), options, work)
        if key not in self._made and len(self._made) < MAX_VARIANTS:
            if work < self._later:
                return self._later
            try:
                self._made[key] = self._make(observed, options, paid_by(work))
            except UnknownInt as unknown:
                positions = {k - self._head for k in unknown.parameters}
                if positions and min(positions) >= 0:
                    self._needed[key] = positions
                    return self.of(observed, options, work)
                self._made[key] = None
            except NotCompiled:
                self._made[key] = None
            except TooLong:
                self._later = TRIED_AGAIN * int(work)
                return self._later
        made = self._made.get(key)
        return made and (made.unpaid(observed.depth, work) or made)


def paid_by(work: float) -> int | None:
    """The instructions whose lowering some work pays for; None for any number."""
    each = policy().heat.work_each
    return None if work >= NO_LIMIT or not each else int(work) // each


def _specialised(observed: Observed, positions: set[int]) -> Observed:
    known = {k: observed.values[k] for k in positions}
    entries = specialised(observed.entries.values(), known)
    return observed._replace(entries=dict(zip(observed.entries, entries, strict=True)))
