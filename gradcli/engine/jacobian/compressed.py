"""Compressed Jacobians: each sweep carries several rows or columns, as far as sparsity allows.

A backward sweep carries a cotangent for each row of its colour, a forward sweep a tangent for each
column. Its result holds the entries of all of them at different places, and the structure says
which entry is where. In a dense Jacobian, each sweep carries one row or column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ad.connections import connected_sources, separate_by_origin
from ..ad.reverse import between
from ..ad.targets import number_of, zeros_like
from ..backends.backend import CPU, count, dtype_name, is_complex, is_inexact, shape_of
from ..backends.tiers import FEW_SWEEPS
from ..operations.rules import Language, Value, array_language
from ..trace.pullbacks import Linearized
from ..trace.records import groups_of, path
from ..trace.run import Run
from ..trace.tape import Site, Traced
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import differentiable, read
from ..values.sparse import Sparse
from .plans import Plan
from .seeds import Sweeps
from .structures import structure


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
    found: dict[Any, Any] = {}  # by number
    for jacobian in _parts(run, target, sources, site, window, since):
        found |= jacobian.answer(mode, sparse, symmetric)
    return [found.get(number_of(source)) for source in sources]


def plans(
    run: Run, target: Traced, sources: Sequence[Any], mode: str, sparse: bool, symmetric: bool
) -> list[Plan]:
    """Returns how `blocks` computes these derivatives as plain arrays: by all sources at once, or
    by each of its own; by those that are unconnected not at all."""
    numbers, found = [number_of(source) for source in sources], []
    for jacobian in _parts(run, target, sources, None, None, None):
        plan = jacobian.plan(mode, sparse, symmetric)
        positions = tuple([numbers.index(n) for n in plan.sources])
        found.append(plan._replace(sources=positions, cost=jacobian.sweeps.cost(plan.sweeps)))
    return found


def _parts(
    run: Run,
    target: Traced,
    sources: Sequence[Any],
    site: Site | None,
    window: Window | None,
    since: int | None,
) -> list[_Jacobian]:
    """The Jacobians that give the derivatives by all connected sources."""
    window = window or run.trace.main
    by = {n: source for source in sources if (n := number_of(source)) is not None}
    # A record may be late for one source and not for another.
    apart = len(by) > 1 and bool(by.keys() & window.late.keys())
    parts = [{n: source} for n, source in by.items()] if apart else [by] if by else []
    found = [_Jacobian(run, target, part, site, window, since) for part in parts]
    return [jacobian for jacobian in found if jacobian.sources]


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
        self.shape = shape_of(primal(target))
        self.shapes = {n: shape_of(like) for n, like in self.likes.items()}
        self.groups = groups_of(self.records)
        self.sweeps = Sweeps(run, target, self.sources, way, self.records, self.groups, site, since)
        self.height, self.width = count(self.shape), sum(map(count, self.shapes.values()))

    def plan(self, mode: str, sparse: bool, symmetric: bool) -> Plan:
        """How the derivatives are computed, by the numbers of the sources; see `blocks`. Refuses
        (E405) entries that can't fit into memory."""
        real = all(is_inexact(like) and not is_complex(like) for like in self.likes.values())
        within = self.groups and self.run.group is not None
        if self.run.rules or within or not real:
            mode = "reverse"  # rules only pull back; 1 and i go together; rows may have diverged
        if mode == "auto" and self.width < self.height and not self._pushes:
            mode = "reverse"
        symmetric = symmetric and not self.run.rules  # custom rules needn't be derivatives
        found, is_gradient = None, not (self.shape or sparse or mode == "forward")
        paths = not is_gradient and (sparse or min(self.height, self.width) > FEW_SWEEPS)
        if paths:
            place = self.target[1], self.shape
            found = structure(
                self.records,
                self.shapes,
                place,
                self.ends,
                "symmetric" if symmetric else mode,
                self.run.group is None,
            )
        if found is None:
            back = is_gradient or mode == "reverse"
            back = back or (mode == "auto" and self.height <= self.width)
            sweeps = self.height if back else self.width
            colour, entries = CPU.xp.arange(sweeps), None
        else:
            back = found.back and mode != "forward"
            _, sweeps, colour, entries = found
        if sparse and entries is None:
            span = None if self.site is None else self.site.span
            text = f"a Jacobian of {self.height * self.width} entries"
            self.run.verify_allocation(32 * self.height * self.width, text, span)
        sources, shapes = tuple(self.sources), tuple(self.shapes.values())
        return Plan(sources, self.shape, shapes, back, sweeps, colour, entries, sparse, paths)

    @property
    def _pushes(self) -> bool:
        """Whether tangents go through all records that hold their derivatives themselves."""
        held = [(r.options, r.site.operands) for r in self.records]
        return all(o.pushes(operands) for o, operands in held if isinstance(o, Linearized))

    def answer(self, mode: str, sparse: bool, symmetric: bool) -> dict[int, Any]:
        plan = self.plan(mode, sparse, symmetric)
        if not plan.sweeps:
            return {
                n: zero_block(self.run, self.target, source, sparse)
                for n, source in self.sources.items()
            }
        if plan.back and not (self.shape or sparse):
            found = self.sweeps.gradient()
        else:
            found = self.sweeps.all(plan.back, plan.colour, plan.sweeps)
            found = self._blocks(plan, found)
        return dict(zip(self.sources, found, strict=True))

    def _blocks(self, plan: Plan, results: list[Any]) -> list[Any]:
        """The blocks of a plan, from the results of its sweeps; recorded where a program asks."""
        backend, run = self.run.backend, self.run
        if self.site is None:
            m = array_language(backend, run.settings.dtype)
            return list(map(backend.settle, plan.blocks(backend, m, results)))
        recorded = Language(run, self.site)
        values = [None if part is None else Value(part, recorded) for part in results]
        return list(map(_without_language, plan.blocks(backend, recorded, values)))


def _without_language(block: Any) -> Any:
    if type(block) is Sparse:
        return block._replace(values=block.values.v)
    return None if block is None else block.v


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
