"""A sweep from several seeds, where it passes records whose values its rows share: cotangents alone have rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import OPS
from .backends import shape_of, sum_to
from .formulas import array_pull, is_bounded
from .lanes import Group, Lanes, zeros
from .run import Run
from .slices import is_plain
from .tape import Site

CONCATENATE, GETITEM = OPS["concatenate"], OPS["getitem"]


class SeededSweep:
    """The part of a sweep that knows of such rows: see `Sweep`."""

    recorded = False
    run: Run
    marked: set[int] | None
    cotangents: dict[int, Any]
    owned: set[int]
    repairs: bool
    risks: bool
    laned: bool
    within: Group | None
    _typed: Callable[[Any, Any], Any]
    add_lanes: Callable[..., None]
    verify_rule: Callable[[Site, Any, int], None]

    def shares(self, operands: Any, g: Lanes, y: Any) -> bool:
        """Whether the rows of a cotangent are those that ask, and share the operands and the result."""
        return g.group is self.within and type(y) is not Lanes and Lanes not in map(type, operands)

    def seeded(self, site: Site, operands: Any, numbers: tuple[int, ...], g: Lanes, y: Any, number: int) -> None:
        """Passes an elementwise operation."""
        group, marked, repairs, op = g.group, self.marked, self.repairs, site.op
        result, *arrays = [v[..., None] if hasattr(v, "strides") and v.ndim else v for v in (y, *operands)]
        for k, n in zip(site.operands, numbers, strict=True):
            if marked is not None and n not in marked:
                continue
            operand = operands[k]
            self.risks = self.risks or not is_bounded(op, k)
            if op.real_only:
                self.verify_rule(site, operand, number)
            c = array_pull(self.run.backend, op, k, repairs, False)(g.array, result, *arrays)
            own = shape_of(operand)
            if c.shape[:-1] != own:
                c = sum_to(c, (*own, group.size))
            self._gather(n, c, operand, group, fresh=c is not g.array and c.base is None)

    def moved(self, site: Site, operands: Any, options: Any, numbers: tuple[int, ...], g: Lanes) -> bool:
        """Passes an operation that moves elements along first axes. Returns whether it was one."""
        if site.op is GETITEM:
            index = options["index"] if type(options) is dict else options
            return is_plain(index) and self._whole(numbers[0], operands[0], index, g)
        if site.op is not CONCATENATE:
            return False
        shapes = [shape_of(operand) for operand in operands]
        axis = options["axis"] % len(shapes[0])
        for k, n in zip(site.operands, numbers, strict=True):
            if self.marked is None or n in self.marked:
                start = sum([shape[axis] for shape in shapes[:k]])
                part = (*[slice(None)] * axis, slice(start, start + shapes[k][axis]))
                self._gather(n, g.array[part], operands[k], g.group)
        self.laned = True
        return True

    def _whole(self, n: int, x: Any, index: Any, g: Lanes) -> bool:
        """Adds the cotangent of a part to that of the whole."""
        if self.marked is not None and n not in self.marked:
            return True
        total = self.cotangents.get(n)
        if x.dtype != g.dtype or not (total is None or (type(total) is Lanes and total.group is g.group)):
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
        self.laned = True
        return True

    def _gather(self, n: int, c: Any, operand: Any, group: Group, fresh: bool = False) -> None:
        """Adds a cotangent to what waits; `fresh` if nobody else holds it."""
        if c.dtype is not getattr(operand, "dtype", None):  # of a number of Python's, perhaps
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
