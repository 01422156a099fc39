"""The regions of one place of the program: one for each kind of values that are met there.

Lowering takes no longer, about, than the work that has been done at the place did: where it would,
it is given up, and tried again after several times the work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from ..backends.tiers import NO_LIMIT, policy
from ..ir.builder import TooLong
from ..regions.entries import specialised
from ..regions.names import NotCompiled, UnknownInt
from .frame_entries import Observed

MAX_VARIANTS = 4  # kinds of values at a place; the interpreter runs it for others
TRIED_AGAIN = 4  # times the work of the last try


class Paid(Protocol):
    """What is made for a place. Its `cost` is the work that pays for compiling it."""

    cost: int


Made = TypeVar("Made", bound=Paid)


class Variants(Generic[Made]):
    """What `make` makes of the entries that are observed at a place, of more that decides it, and
    of as many instructions as it may take.

    head  how many parameters of a region stand before those of the entries
    """

    def __init__(self, make: Callable[[Observed, Any, int | None], Made], head: int = 0) -> None:
        self._make, self._head = make, head
        self._made: dict[Hashable, Made | None] = {}
        self._needed: dict[Hashable, set[int]] = {}  # the positions of ints that must be known
        self._later = 0  # the work after which lowering is tried again

    def of(self, observed: Observed, more: Any, work: float = NO_LIMIT) -> Made | int | None:
        """What there is for entries, and `more` that decides it, after so much work at the place.
        Where more work pays for it, that; None where nothing is compiled."""
        key = (tuple(observed.entries.items()), more)
        if key in self._needed:
            return self.of(_specialised(observed, self._needed[key]), more, work)
        if key not in self._made and len(self._made) < MAX_VARIANTS:
            if work < self._later:
                return self._later
            try:
                self._made[key] = self._make(observed, more, paid_by(work))
            except UnknownInt as unknown:
                positions = {k - self._head for k in unknown.parameters}
                if positions and min(positions) >= 0:
                    self._needed[key] = positions
                    return self.of(observed, more, work)
                self._made[key] = None
            except NotCompiled:
                self._made[key] = None
            except TooLong:
                self._later = TRIED_AGAIN * int(work)
                return self._later
        made = self._made.get(key)
        return made if made is None or work >= made.cost else made.cost


def paid_by(work: float) -> int | None:
    """The instructions whose lowering some work pays for; None for any number."""
    each = policy().heat.work_each
    return None if work >= NO_LIMIT or not each else int(work) // each


def _specialised(observed: Observed, positions: set[int]) -> Observed:
    known = {k: observed.values[k] for k in positions}
    entries = specialised(observed.entries.values(), known)
    return observed._replace(entries=dict(zip(observed.entries, entries, strict=True)))
