"""Sweeps from several seeds over records that all their rows share: only the cotangents are
lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ...ops.op import Op
from ...ops.rules import one_axis
from ..backends.backend import Backend, is_complex, shape_of, sum_to
from ..formulas.functions import array_partial, array_pull
from ..formulas.reading import is_bounded, partial_formula, per_op
from ..operations.rows.slices import is_basic_index
from ..trace.run import Run
from ..trace.tape import Site
from ..values.lanes import Group, Lanes, zeros

Pull = Callable[..., Any]  # (cotangent, result, *operands) -> cotangent
CONCATENATE, GETITEM, INDEX_ADD = OPS["concatenate"], OPS["getitem"], OPS["index_add"]


class SeededSweep:
    """The part of a sweep that handles lanes of seeds: see `Sweep`."""

    recorded = False
    run: Run
    marked: set[int] | None
    cotangents: dict[int, Any]
    owned: set[int]
    repairs: bool
    risks: bool
    laned: bool
    request_group: Group | None
    _typed: Callable[[Any, Any], Any]
    add_lanes: Callable[..., None]
    verify_rule: Callable[[Site, Any, int], None]

    def is_shared(self, operands: Any, g: Lanes, y: Any) -> bool:
        """Whether the rows of a cotangent are those of the request, and share the operands and the
        result."""
        return (
            g.group is self.request_group
            and type(y) is not Lanes
            and Lanes not in map(type, operands)
        )

    def pull_shared(
        self, site: Site, operands: Any, numbers: tuple[int, ...], g: Lanes, y: Any, number: int
    ) -> None:
        """Pulls a cotangent back through an elementwise operation."""
        group, marked, op = g.group, self.marked, site.op
        result, *arrays = [
            v[..., None] if hasattr(v, "strides") and v.ndim else v for v in (y, *operands)
        ]
        pulls = _pulls(self.run.backend, op, site.operands, self.repairs)
        for k, n, (pull, bounded) in zip(site.operands, numbers, pulls, strict=True):
            if marked is not None and n not in marked:
                continue
            operand = operands[k]
            self.risks = self.risks or not bounded
            if op.real_only:
                self.verify_rule(site, operand, number)
            c = pull(g.array, result, *arrays)
            own = shape_of(operand)
            if c.shape[:-1] != own:
                c = sum_to(c, (*own, group.size))
            self._gather(n, c, operand, group, fresh=c is not g.array and c.base is None)

    def pull_move(
        self, site: Site, operands: Any, options: Any, numbers: tuple[int, ...], g: Lanes
    ) -> bool:
        """Pulls a cotangent back through an operation that moves elements along first axes. Returns
        whether the operation is one of these."""
        if site.op is CONCATENATE:
            self._parts(site, operands, options, numbers, g)
        elif site.op is GETITEM or site.op is INDEX_ADD:
            index = options["index"] if type(options) is dict else options
            if not is_basic_index(index) or (
                site.op is GETITEM and not self._whole(numbers[0], operands[0], index, g)
            ):
                return False
            if site.op is INDEX_ADD:
                self._added(site, operands, index, numbers, g)
        else:
            return False
        self.laned = True
        return True

    def _parts(
        self, site: Site, operands: Any, options: Any, numbers: tuple[int, ...], g: Lanes
    ) -> None:
        """Gives each of the concatenated arrays its part of the cotangent."""
        shapes = [shape_of(operand) for operand in operands]
        axis = one_axis(options["axis"], shapes[0])
        for k, n in zip(site.operands, numbers, strict=True):
            if self.marked is None or n in self.marked:
                start = sum([shape[axis] for shape in shapes[:k]])
                part = (*[slice(None)] * axis, slice(start, start + shapes[k][axis]))
                self._gather(n, g.array[part], operands[k], g.group)

    def _added(
        self, site: Site, operands: Any, index: Any, numbers: tuple[int, ...], g: Lanes
    ) -> None:
        """The rule of `index_add`: the array gets the whole cotangent, the value added to a part of
        it gets that part."""
        for k, n in zip(site.operands, numbers, strict=True):
            if self.marked is None or n in self.marked:
                own = (*shape_of(operands[k]), g.group.size)
                c = g.array[index] if k else g.array
                self._gather(n, c if c.shape == own else sum_to(c, own), operands[k], g.group)

    def _whole(self, n: int, x: Any, index: Any, g: Lanes) -> bool:
        """The rule of `getitem`: adds the cotangent of a part to that of the whole. Returns whether
        it did."""
        if self.marked is not None and n not in self.marked:
            return True
        total = self.cotangents.get(n)
        if x.dtype != g.dtype or not (
            total is None or (type(total) is Lanes and total.group is g.group)
        ):
            return False
        if total is None:
            total = zeros(self.run.backend.xp, x.shape, x.dtype, g.group)
            total.array[index] = g.array
        else:
            if n not in self.owned:
                total = Lanes(total.array.copy("K"), g.group)
            total.array[index] += g.array
        self.cotangents[n] = total
        self.owned.add(n)
        return True

    def _gather(self, n: int, c: Any, operand: Any, group: Group, fresh: bool = False) -> None:
        """Adds a cotangent to the pending one of `n`; with `fresh` it has no alias."""
        if c.dtype is not getattr(operand, "dtype", None):  # Python's numbers have no dtype
            c, before = self._typed(c, operand), c
            fresh = fresh or c is not before
        old = self.cotangents.get(n)
        if old is None:
            self.cotangents[n] = Lanes(c, group)
        elif type(old) is not Lanes or old.group is not group:
            self.add_lanes(n, old, Lanes(c, group))
            return
        elif n in self.owned:
            old.array += c
            return
        else:
            self.cotangents[n] = Lanes(old.array + c, group)
            fresh = True
        if fresh:
            self.owned.add(n)


@per_op
def _pulls(
    backend: Backend, op: Op, operands: tuple[int, ...], repairs: bool
) -> list[tuple[Pull, bool]]:
    """The pullbacks of some operands, each with whether its partial is bounded."""
    return [(_pull(backend, op, k, repairs), is_bounded(op, k)) for k in operands]


def _pull(backend: Backend, op: Op, k: int, repairs: bool) -> Pull:
    """A pullback like `array_pull`, for a partial that is small beside the cotangent because the
    rows share it: one product, without dividing it into chunks."""
    if repairs or is_bounded(op, k) or partial_formula(op, k).kind == "where":
        return array_pull(backend, op, k, repairs, False)
    function = array_partial(backend, op, k, False)

    def pull(g: Any, y: Any, *operands: Any) -> Any:
        partial = function(y, *operands)
        return g * (partial.conjugate() if is_complex(partial) else partial)

    return pull
