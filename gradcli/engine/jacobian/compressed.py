"""Compressed Jacobians: each sweep carries several rows or columns, as far as sparsity allows.

A backward sweep carries a cotangent for each row of its colour, a forward sweep a tangent for each
column. Its result holds the entries of all of them at different places, and the structure says
which entry is where. In a dense Jacobian, each sweep carries one row or column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops import OPS
from ..ad.connections import connected_sources, separate_by_origin
from ..ad.reverse import between
from ..ad.targets import number_of, zeros_like
from ..backends.backend import count, dtype_name, is_complex, is_inexact, shape_of
from ..operations.apply import apply
from ..trace.records import groups_of, path
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import differentiable, read
from ..values.sparse import Sparse
from .seeds import Sweeps
from .structures import Entries, structure

GETITEM, MOVEAXIS, RESHAPE, STACK, TAKE, UNTAKE = (
    OPS[name] for name in ("getitem", "moveaxis", "reshape", "stack", "take", "untake")
)
FEW = 8  # rows or columns: that many sweeps cost less than finding the structure


def blocks(
    run: Run,
    target: Traced,
    sources: Sequence[Any],
    site: Site | None = None,
    window: Window | None = None,
    mode: str = "auto",
    sparse: bool = False,
    symmetric: bool = False,
    since: int | None = None,
) -> list[Any]:
    """Returns the derivatives of one value by each of the sources; None where unconnected.

    Each has the shape target.shape + source.shape, or is a `Sparse`.

    site       where a program asks, so that the sweeps are recorded; None for plain arrays
    window     the tape that is asked; the main tape if it is None
    mode       "reverse": backward sweeps from rows; "forward": from columns; "auto": the fewer of
               both
    symmetric  whether the value is the gradient of something by its one source
    since      set if only records from that number on depend on the sources, whatever the windows
    """
    window = window or run.trace.main
    numbers = [number_of(source) for source in sources]
    by = {n: source for n, source in zip(numbers, sources, strict=True) if n is not None}
    # A record may be late for one source and not for another.
    if len(by) > 1 and by.keys() & window.late.keys():
        return [blocks(run, target, [source], site, window, mode, sparse)[0] for source in sources]
    jacobian = _Jacobian(run, target, by, site, window, since) if by else None
    found = (
        jacobian.answer(mode, sparse, symmetric)
        if jacobian is not None and jacobian.sources
        else {}
    )
    return [None if n is None else found.get(n) for n in numbers]


def batch_rows(
    run: Run,
    target: Traced,
    sources: Sequence[Any],
    site: Site | None,
    window: Window | None = None,
    since: int | None = None,
) -> list[Any]:
    """Returns, by each of the sources, the gradients of the sums of the k-th elements of all rows
    of the target.

    The gradients are stacked along a first axis, by k. None where unconnected.
    """
    numbers = [number_of(source) for source in sources]
    by = {n: source for n, source in zip(numbers, sources, strict=True) if n is not None}
    if not by:
        return [None] * len(numbers)
    jacobian = _Jacobian(run, target, by, site, window or run.trace.main, since)
    size = count(jacobian.shape[1:])
    if not jacobian.sources:
        return [None] * len(numbers)
    if not jacobian.height:
        return [
            run.backend.xp.zeros((size, *jacobian.shapes[n])) if n in jacobian.sources else None
            for n in numbers
        ]
    found = jacobian.sweeps.all(True, run.backend.xp.arange(jacobian.height) % size, size)
    rows = dict(zip(jacobian.sources, found, strict=True))
    return [None if n is None else rows.get(n) for n in numbers]


class _Jacobian:
    """The computation of the derivatives of one value by several sources.

    records  the records that lie between, in execution order
    sources  the sources that the value is connected with, by number; `shapes` has their shapes
    ends     the sources that the window watches, but whose computation it didn't record
    """

    def __init__(
        self,
        run: Run,
        target: Traced,
        by: dict[int, Any],
        site: Site | None,
        window: Window,
        since: int | None,
    ) -> None:
        self.run, self.target = run, target
        self.site = site
        way = segments, marked, self.ends = between([target], set(by), window, since)
        if since is None:
            separate_by_origin(run, [target], by.values())
            left = connected_sources(run, [target], set(by), segments, marked)
            by = {n: source for n, source in by.items() if n in left}
        self.records, needed = path(segments, marked, {target[1]})
        self.sources = {
            n: source for n, source in by.items() if n in needed and (marked is None or n in marked)
        }
        self.likes = {n: primal(read(source)) for n, source in self.sources.items()}
        self.shape, self.shapes = (
            shape_of(primal(target)),
            {n: shape_of(like) for n, like in self.likes.items()},
        )
        self.groups = groups_of(self.records)
        self.sweeps = Sweeps(run, target, self.sources, way, self.records, self.groups, site, since)
        self.height, self.width = count(self.shape), sum(map(count, self.shapes.values()))

    def answer(self, mode: str, sparse: bool, symmetric: bool) -> dict[int, Any]:
        real = all(is_inexact(like) and not is_complex(like) for like in self.likes.values())
        if self.run.rules or self.groups or not real:
            mode = "reverse"  # rules only pull back; 1 and i go together; rows may have diverged
        symmetric = symmetric and not self.run.rules  # custom rules needn't be derivatives
        if not (self.shape or sparse or mode == "forward"):  # a gradient
            return dict(zip(self.sources, self.sweeps.gradient(), strict=True))
        found = None
        if sparse or min(self.height, self.width) > FEW:
            place = self.target[1], self.shape
            found = structure(
                self.records, self.shapes, place, self.ends, "symmetric" if symmetric else mode
            )
        if found is None:
            if sparse:
                span = None if self.site is None else self.site.span
                text = f"a Jacobian of {self.height * self.width} entries"
                self.run.verify_allocation(32 * self.height * self.width, text, span)
            return self._whole(
                mode == "reverse" or (mode == "auto" and self.height <= self.width), sparse
            )
        results = self.sweeps.all(
            found.back and mode != "forward", found.colour, found.sweeps, found.seeds
        )
        parts = zip(
            self.sources,
            results if len(results) == len(self.sources) else results * len(self.sources),
            found.entries,
            strict=True,
        )
        return {
            n: None if part is None else self._placed(part, entries, self.shapes[n], sparse)
            for n, part, entries in parts
        }

    def _whole(self, back: bool, sparse: bool) -> dict[int, Any]:
        """Returns the blocks of a dense Jacobian, with one sweep per row or column."""
        n = self.height if back else self.width
        if not n:
            return {
                number: zero_block(self.run, self.target, source, sparse)
                for number, source in self.sources.items()
            }
        results = self.sweeps.all(back, self.run.backend.xp.arange(n), n)
        blocks, first = {}, 0
        for k, (number, inner) in enumerate(self.shapes.items()):
            size = count(inner)
            found = results[k] if back else results[0]
            if found is None:
                block = None
            elif back:
                block = self._reshaped(found, self.shape + inner)
            else:
                block = self._block_of_columns(found, first, first + size, self.shape + inner)
            blocks[number] = self._listed(block, inner) if sparse and block is not None else block
            first += size
        return blocks

    def _placed(self, part: Any, entries: Entries, inner: tuple[int, ...], sparse: bool) -> Any:
        """Returns the block of a source of shape `inner`, read from the results of the sweeps."""
        n, xp = self.height * count(inner), self.run.backend.xp
        places, positions = xp.asarray(entries.places), xp.asarray(entries.positions)
        if self.site is None:
            values = part.reshape(-1).take(places)
            if sparse:
                return self._entries(entries, values, inner)
            block = xp.zeros(n, part.dtype)
            block[positions] = values
            return block.reshape(self.shape + inner)
        values = apply(self.run, self.site.in_derivative(TAKE), (part, places), {"axis": None})
        if sparse:
            return self._entries(entries, values, inner)
        block = apply(
            self.run,
            self.site.in_derivative(UNTAKE),
            (values, positions),
            {"axis": 0, "shape": (n,)},
        )
        return self._reshaped(block, self.shape + inner)

    def _entries(self, entries: Entries, values: Any, inner: tuple[int, ...]) -> Sparse:
        """Returns a sparse block that owns its rows and columns, since the cached ones mustn't be
        written to.
        """
        xp = self.run.backend.xp
        return Sparse(
            xp.array(entries.rows), xp.array(entries.columns), values, (self.height, count(inner))
        )

    # ---- arrays, recorded where a program asks ---------------------------------------------------

    def _reshaped(self, value: Any, shape: tuple[int, ...]) -> Any:
        if self.site is None:
            return self.run.backend.settle(self.run.backend.xp.reshape(value, shape))
        return apply(self.run, self.site.in_derivative(RESHAPE), (value,), {"shape": list(shape)})

    def _block_of_columns(self, columns: Any, first: int, last: int, shape: tuple[int, ...]) -> Any:
        """Returns the columns from `first` up to `last` as a block of this shape."""
        if self.site is None:
            return self._reshaped(self.run.backend.xp.moveaxis(columns[first:last], 0, -1), shape)
        part = apply(
            self.run, self.site.in_derivative(GETITEM), (columns,), {"index": (slice(first, last),)}
        )
        return self._reshaped(
            apply(
                self.run,
                self.site.in_derivative(MOVEAXIS),
                (part,),
                {"source": 0, "destination": -1},
            ),
            shape,
        )

    def _listed(self, block: Any, inner: tuple[int, ...]) -> Sparse:
        """Returns a block of a source of shape `inner` as a list of all its entries."""
        xp, n = self.run.backend.xp, count(inner)
        every = xp.arange(self.height * n)
        return Sparse(
            every // max(n, 1),
            every % max(n, 1),
            self._reshaped(block, (self.height * n,)),
            (self.height, n),
        )


def zero_block(run: Run, value: Any, source: Any, sparse: bool = False) -> Any:
    """Returns the zero derivatives of a value by a source, of shape value.shape + source.shape."""
    xp, like = run.backend.xp, primal(read(source))
    dtype = dtype_name(like) if differentiable(source) else run.settings.dtype
    if sparse:
        none = xp.zeros(0, int)
        return Sparse(
            none,
            none,
            xp.zeros(0, dtype),
            (count(shape_of(primal(read(value)))), count(shape_of(like))),
        )
    shape = block_shape(value, source)
    return xp.zeros(shape, dtype) if shape else zeros_like(run, source)


def block_shape(value: Any, source: Any) -> tuple[int, ...]:
    return shape_of(primal(read(value))) + shape_of(primal(read(source)))
