"""A sweep over lanes: cotangents with rows, how they add up where rows divide and join, and what rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import OPS
from .apply import apply
from .backends import is_complex, shape_of, sum_to
from .boxes import primal
from .formulas import array_pull
from .lanes import Group, Lanes, common, deepest, lifted, spread, with_rows
from .rules import Value
from .run import Run
from .tape import Site

ADD = OPS["add"]


class LaneSweep:
    """The part of a sweep that knows of rows: see `Sweep`."""

    recorded = False
    run: Run
    site: Site
    marked: set[int] | None
    cotangents: dict[int, Any]
    owned: set[int]
    repairs: bool
    risks: bool
    laned: bool
    within: Group | None
    add: Callable[..., None]
    _fit: Callable[[Any, Any], Any]
    _typed: Callable[[Any, Any], Any]

    def on_lanes(self, site: Site, operands: Any, numbers: tuple[int, ...], g: Any, y: Any) -> None:
        """The same a row at a time."""
        self.risks = self.laned = True
        self.site = site
        group = deepest((g, y, *operands))
        assert group is not None
        cotangent = spread(self.run.backend.xp, g, group).array
        result, *arrays = [with_rows(v, group) for v in (y, *operands)]
        for k, n in zip(site.operands, numbers, strict=True):
            if self.marked is None or n in self.marked:
                c = array_pull(self.run.backend, site.op, k, self.repairs, False)(cotangent, result, *arrays)
                c = sum_to(c, (*shape_of(operands[k]), group.size))
                self.add(n, self.settled(Lanes(self._typed(c, operands[k]), group), operands[k]))

    def settled(self, c: Any, operand: Any) -> Any:
        """A cotangent with rows as its operand takes it: what rows share gets the sum over them. Some rows of the operand's
        are left as they are, until they meet others."""
        inner = primal(c)
        if type(inner) is not Lanes:
            return c
        if type(operand) is not Lanes:
            return c if inner.group is self.within else self._summed(c, operand)
        own = operand.group
        return c if inner.group is own or inner.group.size <= own.size else self.lift(c, own)

    def _summed(self, c: Any, operand: Any) -> Any:
        c = self.lift(c, self.within)
        return c if self.recorded or type(c) is Lanes else self._fit(c, operand)

    def lift(self, c: Any, outer: Group | None) -> Any:
        """A cotangent with the rows of an outer group: see `lifted` in lanes.py."""
        return lifted(self.run.backend.xp, c, outer)

    def add_lanes(self, n: int, old: Any, c: Any) -> None:
        """Adds up cotangents that may be of different rows."""
        a, b = primal(old), primal(c)
        if type(a) is Lanes and type(b) is Lanes and a.group is not b.group:
            outer = common(a.group, b.group)
            old, c = self.lift(old, outer), self.lift(c, outer)
        elif not self.recorded and type(a) is type(b):
            self.cotangents[n] = Lanes(a.array + b.array, a.group)
            self.owned.discard(n)
            return
        self.cotangents[n] = apply(self.run, self.site.derived(ADD), (old, c))
        self.owned.discard(n)

    def accumulate_lanes(self, rule: Any, m: Any, n: int, g: Any, y: Any, x: Any, options: Any) -> None:
        """The same for rows: in place where what waits is of the same rows."""
        operand, inner = primal(x.v), primal(g.v)
        group = deepest((inner, operand))
        assert group is not None
        total = self.cotangents.get(n)
        alone = n in self.owned and type(primal(total)) is Lanes and primal(total).group is group
        if not alone:
            dtype = "complex128" if is_complex(inner) else operand.dtype
            total = Lanes(self.run.backend.xp.zeros((*operand.shape, group.size), dtype), group)
        c = rule(m, Value(total, m), g, y, x, **options).v
        if alone:
            self.cotangents[n] = c
            return
        mine = n not in self.cotangents
        c = self.settled(c, operand)
        self.add(n, c)
        if mine and type(primal(c)) is Lanes:
            self.owned.add(n)

    def asked(self, c: Any) -> Any:
        """A cotangent as who asks takes it: with the asker's rows, or the sum over those that were opened inside."""
        inner, within = primal(c), self.within
        opened = type(inner) is Lanes and within is not None and inner.group is not within and inner.group.within(within)
        return self.lift(c, within) if opened else c
