"""The regions of one place of the program: one for each kind of values that are met there."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from ..regions.names import NotCompiled, UnknownInt
from ..regions.specialising import specialised
from .frame_entries import Observed

MAX_VARIANTS = 4  # kinds of values at a place; the interpreter runs it for others

Made = TypeVar("Made")


class Variants(Generic[Made]):
    """What `make` makes of the entries that are observed at a place.

    head  how many parameters of a region stand before those of the entries
    """

    def __init__(self, make: Callable[[Observed, Any], Made], head: int = 0) -> None:
        self._make, self._head = make, head
        self._made: dict[Hashable, Made | None] = {}
        self._needed: dict[Hashable, set[int]] = {}  # the positions of ints that must be known

    def of(self, observed: Observed, more: Any) -> Made | None:
        """What there is for entries, and `more` that decides it; None where nothing is compiled."""
        key = (tuple(observed.entries.items()), more)
        if key in self._needed:
            return self.of(_specialised(observed, self._needed[key]), more)
        if key not in self._made and len(self._made) < MAX_VARIANTS:
            try:
                self._made[key] = self._make(observed, more)
            except UnknownInt as unknown:
                positions = {k - self._head for k in unknown.parameters}
                if positions and min(positions) >= 0:
                    self._needed[key] = positions
                    return self.of(observed, more)
                self._made[key] = None
            except NotCompiled:
                self._made[key] = None
        return self._made.get(key)


def _specialised(observed: Observed, positions: set[int]) -> Observed:
    known = {k: observed.values[k] for k in positions}
    entries = specialised(observed.entries.values(), known)
    return observed._replace(entries=dict(zip(observed.entries, entries, strict=True)))
