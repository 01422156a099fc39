"""Sweeps over lanes: cotangents that differ between rows, and their sums where rows divide, merge,
or share a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ...ops.scatter import add_at
from ..backends.backend import is_complex, shape_of, sum_to
from ..formulas.functions import array_pull
from ..formulas.reading import is_bounded
from ..operations.apply import apply
from ..operations.rows.narrowing import narrow_recorded
from ..operations.rows.slices import add_part, is_basic_index
from ..operations.rules import Value
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.lanes import Group, Lanes, at, common, deepest, lifted, spread, with_rows, zeros
from .seeded_sweep import SeededSweep

ADD, SPREAD_ROWS = OPS["add"], OPS["spread_rows"]


def _can_accumulate(total: Lanes, operand: Lanes, cotangent: Any) -> bool:
    """Whether a share of a cotangent can be added to `total` in place."""
    return bool(
        total.array.dtype == operand.array.dtype == cotangent.dtype
        and total.array.shape == cotangent.shape
    )


def without_alias(c: Any) -> Any:
    """A share of a cotangent, copied if it is a view: the cotangent may be written in place."""
    return Lanes(c.array.copy(), c.group) if type(c) is Lanes and c.array.base is not None else c


class LaneSweep(SeededSweep):
    """The part of a sweep that handles lanes: see `Sweep`."""

    site: Site
    add: Callable[..., None]
    _fit: Callable[[Any, Any], Any]

    def pull_on_lanes(
        self, site: Site, operands: Any, numbers: tuple[int, ...], g: Any, y: Any, number: int
    ) -> None:
        """Pulls a cotangent back through an elementwise operation on lanes."""
        self.laned = True
        self.site = site
        if type(g) is Lanes and self.is_shared(operands, g, y):
            self.pull_shared(site, operands, numbers, g, y, number)
            return
        group = deepest((g, y, *operands))
        assert group is not None
        has_rows = type(g) is Lanes and g.group is group
        cotangent = g.array if has_rows else spread(self.run.backend.xp, g, group).array
        arrays = [with_rows(v, group) for v in (y, *operands)]
        free = has_rows and number in self.owned
        self._each_on_lanes(site, operands, numbers, group, cotangent, arrays, number, free)

    def _each_on_lanes(
        self,
        site: Site,
        operands: Any,
        numbers: tuple[int, ...],
        group: Group,
        cotangent: Any,
        arrays: list[Any],
        number: int,
        free: bool,
    ) -> None:
        """Pulls a cotangent back to one operand after another. `arrays` are the result and the
        operands. With `free`, the last share may be written over the cotangent."""
        for k, n in zip(site.operands, numbers, strict=True):
            if self.marked is not None and n not in self.marked:
                continue
            operand = operands[k]
            self.risks = self.risks or not is_bounded(site.op, k)
            if site.op.real_only:
                self.verify_rule(site, operand, number)
            pull = array_pull(self.run.backend, site.op, k, self.repairs, False)
            has_rows = type(operand) is Lanes and operand.group is group
            if not has_rows or operand.array.shape != cotangent.shape:
                c = pull(cotangent, *arrays)
                free = free and c is not cotangent
                c = sum_to(c, (*shape_of(operand), group.size))
                self.add(n, self.for_operand(Lanes(self._typed(c, operand), group), operand))
                continue
            total = self.cotangents.get(n)
            if (
                n in self.owned
                and type(total) is Lanes
                and total.group is group
                and _can_accumulate(total, operand, cotangent)
            ):
                total.array = pull(cotangent, *arrays, onto=total.array)
                continue
            into = cotangent if free and k == site.operands[-1] else None
            c = pull(cotangent, *arrays, into=into)
            free = free and c is not cotangent
            fresh = c is not cotangent or into is not None
            self.add(n, Lanes(self._typed(c, operand), group), fresh)

    def to_each_row(self, g: Any, y: Any) -> Any:
        """The cotangent of a result that is lanes, as lanes too: if it is shared, each row gets a
        copy, so that a value which the rows share sums all of them."""
        if type(g) is list:
            return [
                part if part is None else self.to_each_row(part, like)
                for part, like in zip(g, y, strict=True)
            ]
        like = primal(y)
        if type(like) is not Lanes or type(primal(g)) is Lanes:
            return g
        return apply(self.run, self.site.in_derivative(SPREAD_ROWS), (g,), {"group": like.group})

    def from_rows(self, c: Any, group: Group | None, operand: Any) -> Any:
        """A cotangent computed for the rows of a group, perhaps one for all of them, in the form
        that its operand takes (`for_operand`)."""
        if group is None:
            return c
        self.laned = True
        if type(primal(c)) is not Lanes:
            c = apply(self.run, self.site.in_derivative(SPREAD_ROWS), (c,), {"group": group})
        return self.for_operand(narrow_recorded(self.run, self.site, c, group), primal(operand))

    def pull_part(self, x: Any, options: Any, n: int, g: Lanes) -> bool:
        """The fast path of `getitem` for a part of each row's value. Returns whether the record is
        of this kind."""
        index = options["index"] if type(options) is dict else options
        if (
            type(x) is not Lanes
            or x.group is not g.group
            or x.dtype != g.dtype
            or not is_basic_index(index)
            or self.recorded
        ):
            return False
        if self.marked is not None and n not in self.marked:
            return True
        total = self.cotangents.get(n)
        if total is not None and not (
            n in self.owned and type(total) is Lanes and total.group is g.group
        ):
            return False
        self.laned = True
        self.cotangents[n] = add_part(self.run.backend, total, g, x, index)
        self.owned.add(n)
        return True

    def for_operand(self, c: Any, operand: Any) -> Any:
        """A cotangent of lanes in the form that its operand takes. A shared operand gets the sum
        over all rows but those of the request. A cotangent of only some rows of the request, or of
        the operand, stays as it is until it is added to others."""
        inner = primal(c)
        if type(inner) is not Lanes:
            return c
        within = self.request_group
        if type(operand) is not Lanes or (
            within is not None and within is not operand.group and within.opened_in(operand.group)
        ):
            return (
                c
                if within is not None and inner.group.are_some(within)
                else self._summed(c, operand)
            )
        own = operand.group
        return (
            c
            if inner.group is own or inner.group.size <= own.size
            else self.lift_to_reached(c, own)
        )

    def _summed(self, c: Any, operand: Any) -> Any:
        c = self.lift_to_reached(c, self.request_group)
        return c if self.recorded or type(c) is Lanes else self._fit(c, operand)

    def lift(self, c: Any, outer: Group | None) -> Any:
        """A cotangent with the rows of an outer group: see `lifted` in `values/lanes.py`."""
        return lifted(self.run.backend.xp, c, outer)

    def lift_to_all(self, c: Any, group: Group) -> Any:
        """A cotangent lifted to all rows of a group."""
        return self.lift(c, group)

    def lift_to_reached(self, c: Any, outer: Group | None) -> Any:
        """A cotangent lifted to those rows of `outer` that it reaches."""
        return self.lift(c, outer and primal(c).group.unopened(outer))

    def add_lanes(self, n: int, old: Any, c: Any, fresh: bool = False) -> None:
        """Adds cotangents that may be of different groups; with `fresh`, `c` has no alias."""
        a, b = primal(old), primal(c)
        if type(a) is Lanes and type(b) is Lanes:
            outer = common(a.group, b.group)
            alike = (
                not self.recorded
                and a.array.shape[:-1] == b.array.shape[:-1]
                and a.dtype == b.dtype
            )
            if a.group is b.group and alike:
                if n in self.owned:
                    a.array += b.array
                    return
                self.cotangents[n] = Lanes(a.array + b.array, a.group)
                self.owned.add(n)
                return
            if alike and outer is not None and a.group.are_some(outer) and b.group.are_some(outer):
                self.cotangents[n] = self._joined(outer, (a, n in self.owned), (b, fresh))
                self.owned.add(n)
                return
            if a.group is not b.group:
                old, c = self.lift_to_common(old, c, outer)
        self.cotangents[n] = apply(self.run, self.site.in_derivative(ADD), (old, c))
        self.owned.discard(n)

    def lift_to_common(self, a: Any, b: Any, outer: Group | None) -> tuple[Any, Any]:
        """Two cotangents lifted to a common group inside `outer`, from which both groups come."""
        return self.lift(a, outer), self.lift(b, outer)

    def _joined(self, outer: Group, *parts: tuple[Lanes, bool]) -> Lanes:
        """The sum of cotangents of some rows of a group; each comes with whether it may be written
        to."""
        xp = self.run.backend.xp
        (whole, owned), *others = sorted(
            parts, key=lambda part: (part[0].group is not outer, not part[1])
        )
        if whole.group is outer:
            total = whole.array if owned else whole.array.copy()
        else:
            total = xp.zeros((*whole.array.shape[:-1], outer.size), whole.dtype)
            total[at(total, whole.group.way_to(outer))] = whole.array
        for part, _ in others:
            if part.group is outer:
                total += part.array
                continue
            way = part.group.way_to(outer)
            if total.ndim == 1:
                add_at(xp, total, way, part.array)
            else:
                total[..., way] += part.array
        return Lanes(total, outer)

    def accumulate_lanes(
        self, rule: Any, m: Any, n: int, g: Any, y: Any, x: Any, options: Any
    ) -> None:
        """`_accumulate` for lanes: in place where the pending cotangent has the group of the new
        one."""
        operand, inner = primal(x.v), primal(g.v)
        group = deepest((inner, operand))
        assert group is not None
        total = self.cotangents.get(n)
        in_place = n in self.owned and type(primal(total)) is Lanes and primal(total).group is group
        if not in_place:
            dtype = "complex128" if is_complex(inner) else operand.dtype
            total = zeros(self.run.backend.xp, operand.shape, dtype, group)
        c = rule(m, Value(total, m), g, y, x, **options).v
        if in_place:
            self.cotangents[n] = c
            return
        mine = n not in self.cotangents
        c = self.for_operand(c, operand)
        self.add(n, c)
        if mine and type(primal(c)) is Lanes:
            self.owned.add(n)

    def for_request(self, c: Any) -> Any:
        """A cotangent in the form that the request takes: with its rows, summed over rows opened
        inside them, and 0 in the rows that it doesn't reach."""
        inner, within = primal(c), self.request_group
        if type(inner) is not Lanes or within is None or within.within(inner.group):
            return c
        whole = common(inner.group, within)
        return (
            c
            if whole is None
            else narrow_recorded(self.run, self.site, self.lift(c, whole), within)
        )
