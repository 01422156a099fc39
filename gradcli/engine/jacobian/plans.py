"""How the derivatives of one value by sources are computed: by which sweeps, and where in their
results the entries are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..backends.backend import Backend, count
from ..values.sparse import Sparse
from .structures import Entries


class Plan(NamedTuple):
    """The sweeps between a value and those of the sources that it is connected with.

    sources  these, by their positions among those that were asked
    shape    of the value; `shapes` has those of the sources
    back     whether the sweeps go backward from the value; else forward from the sources
    sweeps   the number of sweeps
    colour   the sweep that carries each element of the value, or of all sources
    entries  the entries by each source; None if each element may depend on all
    sparse   whether the answer lists the entries
    paths    whether another path of the program may have another plan for the same connections
    cost     about how long the sweeps take, in microseconds, where it was asked
    """

    sources: tuple[int, ...]
    shape: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    back: bool
    sweeps: int
    colour: Any
    entries: list[Entries] | None
    sparse: bool
    paths: bool
    cost: float = 0.0

    def blocks(self, backend: Backend, m: Any, results: Sequence[Any]) -> list[Any]:
        """The derivatives by each of the sources, from what the sweeps give, stacked along a first
        axis: by each source where they go backward, else of the value. None for None. `m` is the
        language of derivative rules, which computes on the results."""
        found, first = [], 0
        for k, inner in enumerate(self.shapes):
            part, size = results[k if self.back else 0], count(inner)
            if part is not None and self.entries is not None:
                part = self._placed(backend, m, part, self.entries[k], inner)
            elif part is not None:
                if not self.back:
                    part = m.moveaxis(part[first : first + size], source=0, destination=-1)
                part = m.reshape(part, shape=list(self.shape + inner))
                part = self._listed(backend, m, part, size) if self.sparse else part
            found.append(part)
            first += size
        return found

    def _placed(
        self, backend: Backend, m: Any, part: Any, entries: Entries, inner: tuple[int, ...]
    ) -> Any:
        """A block of a source of shape `inner`, whose entries are in the results of the sweeps."""
        xp, height, width = backend.xp, count(self.shape), count(inner)
        places, positions = xp.asarray(entries.places), xp.asarray(entries.positions)
        is_plain = isinstance(part, xp.ndarray)  # the functions of `m` would check each place
        values = part.reshape(-1)[places] if is_plain else m.take(part, places, axis=None)
        if self.sparse:
            # Copies: the cached rows and columns mustn't be written to.
            rows, columns = xp.array(entries.rows), xp.array(entries.columns)
            return Sparse(rows, columns, values, (height, width))
        if not is_plain:
            block = m.untake(values, positions, axis=0, shape=(height * width,))
            return m.reshape(block, shape=list(self.shape + inner))
        block = xp.zeros(self.shape + inner, part.dtype)
        block.reshape(-1)[positions] += values  # each is there once; 0 plus -0 is 0, as in `untake`
        return block

    def _listed(self, backend: Backend, m: Any, block: Any, width: int) -> Sparse:
        """A block as a list of all its entries."""
        height = count(self.shape)
        every = backend.xp.arange(height * width)
        rows, columns = every // max(width, 1), every % max(width, 1)
        values = m.reshape(block, shape=[height * width])
        return Sparse(rows, columns, values, (height, width))
