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
    seeds    the seeds of the sweeps, once they were used; None where they aren't kept
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
    seeds: dict[Any, Any] | None
    sparse: bool
    paths: bool
    cost: float = 0.0

    def blocks(self, backend: Backend, results: Sequence[Any]) -> list[Any]:
        """The derivatives by each of the sources, from what the sweeps give, stacked along a first
        axis: by each source where they go backward, else of the value. None for None."""
        found, first = [], 0
        for k, inner in enumerate(self.shapes):
            part, size = results[k if self.back else 0], count(inner)
            if part is not None and self.entries is not None:
                part = self._placed(backend, part, self.entries[k], inner)
            elif part is not None:
                if not self.back:
                    part = backend.xp.moveaxis(part[first : first + size], 0, -1)
                part = backend.settle(backend.xp.reshape(part, self.shape + inner))
                part = self._listed(backend, part, size) if self.sparse else part
            found.append(part)
            first += size
        return found

    def _placed(self, backend: Backend, part: Any, entries: Entries, inner: tuple[int, ...]) -> Any:
        xp = backend.xp
        values = part.reshape(-1).take(xp.asarray(entries.places))
        if self.sparse:
            return sparse_of(backend, entries, values, (count(self.shape), count(inner)))
        block = xp.zeros(count(self.shape) * count(inner), part.dtype)
        block[xp.asarray(entries.positions)] = values
        return block.reshape(self.shape + inner)

    def _listed(self, backend: Backend, block: Any, width: int) -> Sparse:
        """A block as a list of all its entries."""
        height = count(self.shape)
        rows, columns = every_place(backend, height, width)
        values = backend.xp.reshape(block, (height * width,))
        return Sparse(rows, columns, backend.settle(values), (height, width))


def sparse_of(backend: Backend, entries: Entries, values: Any, shape: tuple[int, int]) -> Sparse:
    """A sparse block that owns its rows and columns, since the cached ones mustn't be written
    to."""
    xp = backend.xp
    return Sparse(xp.array(entries.rows), xp.array(entries.columns), values, shape)


def every_place(backend: Backend, height: int, width: int) -> tuple[Any, Any]:
    """The rows and the columns of all places of a block."""
    every = backend.xp.arange(height * width)
    return every // max(width, 1), every % max(width, 1)
