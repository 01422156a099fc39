"""Cotangents that differ between rows: how they are added up where rows divide, merge, or share a
value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import OPS
from ...ops.scatter import add_at
from ..backends.backend import Backend, is_complex, shape_of, sum_to
from ..operations.apply import apply
from ..operations.rows.narrowing import narrow_recorded
from ..trace.run import Run
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.lanes import Group, Lanes, at, common, lifted

ADD, SPREAD_ROWS = OPS["add"], OPS["spread_rows"]


class RowCotangents:
    """The part of a sweep that handles cotangents with rows.

    request_group  the rows of the request; values that they share sum over rows opened inside
    laned          whether some cotangent has rows
    """

    run: Run
    site: Site
    recorded: bool
    cotangents: dict[int, Any]
    owned: set[int]
    request_group: Group | None
    laned: bool
    add: Callable[..., None]

    def add_total(self, k: int, n: int, g: Any, operands: Any, options: dict[str, Any]) -> bool:
        """Adds the cotangent of the operand `k`, the value `n`, if all rows share it and the op's
        own rule sums it over them; whether it did."""
        rule = self.site.op.rows_total
        assert rule is not None
        if self.recorded or self.request_group is not None or type(g) is not Lanes:
            return False
        group, laned = g.group, [type(v) is Lanes for v in operands]
        values = (*operands, *options.get("index", ()))
        others = any(type(v) is Lanes and v.group is not group for v in values)
        if group.parent is not None or others or laned[k]:
            return False
        arrays = [v.array if own else v for v, own in zip(operands, laned, strict=True)]
        found = rule(self.run.backend.xp, k, g.array, arrays, laned, options, group.size)
        if found is NotImplemented:
            return False
        self.add(n, fitted(self.run.backend, found, operands[k]), True)
        return True

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
        return c if self.recorded or type(c) is Lanes else fitted(self.run.backend, c, operand)

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


# ---- the form of a cotangent ---------------------------------------------------------------------


def fitted(backend: Backend, c: Any, operand: Any) -> Any:
    """A cotangent in its operand's shape and dtype: summed over broadcast axes, and real for a real
    operand."""
    if type(operand) is float and isinstance(c, float):
        return float(c)
    shape = shape_of(operand)
    if shape and shape == c.shape and c.dtype is operand.dtype:
        return c
    if shape_of(c) != shape:
        c = sum_to(c, shape)
    if shape:
        return typed(c, operand)
    c = c.real if is_complex(c) and not is_complex(operand) else c
    if type(operand) in (float, complex):
        return type(operand)(c)
    c = backend.settle(c)
    return operand.dtype.type(c) if hasattr(operand, "dtype") and not is_complex(c) else c


def typed(c: Any, operand: Any) -> Any:
    """A cotangent in its operand's dtype."""
    if is_complex(c) and not is_complex(operand):
        c = c.real
    dtype = getattr(operand, "dtype", None) or (
        "complex128" if type(operand) is complex else "float64"
    )
    return c.astype(dtype) if c.dtype != dtype and not is_complex(c) else c


def without_alias(c: Any) -> Any:
    """A share of a cotangent, copied if it is a view: the cotangent may be written in place."""
    return Lanes(c.array.copy(), c.group) if type(c) is Lanes and c.array.base is not None else c
