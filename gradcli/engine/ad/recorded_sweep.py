"""The reverse sweep through `apply`: its work is recorded, and can be differentiated again."""

from __future__ import annotations

from typing import Any

from ...ops import OPS
from ..backends.backend import is_complex, shape_of
from ..formulas.differentiation import cotangent_op, partial_formula
from ..operations.apply import apply
from ..operations.rows.narrowing import pick_shared
from ..operations.rows.separation import SeparationError
from ..trace.pullbacks import Passed
from ..trace.recording import Blank
from ..trace.tape import Site
from ..trace.windows import inputs_of, operands_of
from ..values.boxes import primal
from ..values.lanes import Group, Lanes, common, united
from .forward import product
from .sweep import Sweep
from .targets import converted

SUM_TO = OPS["sum_to"]
PICK_ROWS, PLACE_ROWS, MERGE_ROWS = OPS["pick_rows"], OPS["place_rows"], OPS["merge_rows"]
MOVED = (PICK_ROWS, PLACE_ROWS, MERGE_ROWS)  # ops that move values between groups of rows


class RecordedSweep(Sweep):
    """A sweep in which every product and sum is an operation of the language."""

    recorded = True

    def pull(
        self, number: int, g: Any, site: Site, in0: Any, in1: Any, a: Any, b: Any, y: Any
    ) -> None:
        record = Passed(number, site, operands_of(site, a, b), inputs_of(in0, in1), g, y)
        if site.op.elementwise:
            self.elementwise(record)
        elif not self._of_some_rows(record, b):
            self.structural(record, b)

    def boxed(self, value: Any, n: int) -> Any:
        segment = self.segment
        if type(value) is Blank:
            return value
        return value, n, segment if n >= segment.first else segment.holder(n)

    def elementwise(self, record: Passed) -> None:
        """Hands a cotangent back through an elementwise operation, by one operation for each
        operand's share."""
        number, site, operands, inputs, g, y = record
        run, self.site = self.run, site
        if type(primal(y)) is Lanes:
            self.laned, g = True, self.to_each_row(g, y)
        values = [*operands, self.boxed(y, number)]
        for k, n in zip(site.operands, inputs, strict=True):
            values[k] = self.boxed(operands[k], n)
        inner = list(map(primal, (y, g, *operands)))
        is_float = type(inner[0]) is type(inner[1]) is float and not site.takes_complex
        by_parts = not is_float and any(map(is_complex, inner))
        if site.shares is None:
            site.shares = {k: _share(site, k) for k in site.operands}
        for k, n in self.active(record):
            derived, reads = site.shares[k]
            if by_parts:
                self.verify_rule(site, inner[2 + k], number)
                c = product(run, site, k, g, values[-1], values[:-1], conjugates=True)
            elif derived is None:
                c = g
            else:
                c = apply(run, derived, (g, *[values[read] for read in reads]))
            self.add(n, c if is_float else self._matched(c, inner[2 + k]))

    def _matched(self, c: Any, like: Any) -> Any:
        """A share of a cotangent in its operand's shape and dtype."""
        run, site = self.run, self.site
        if shape_of(primal(c)) != shape_of(like):
            c = apply(run, site.in_derivative(SUM_TO), (c,), {"shape": shape_of(like)})
        c = converted(run, site, c, like)
        return self.for_operand(c, like) if self.laned else c

    # Rows that a cotangent doesn't reach keep having none. Zeros there would be multiplied by what
    # these rows hold, which may be nan.

    def _of_some_rows(self, record: Passed, options: Any) -> bool:
        """Pulls the cotangent of only some rows back through an operation that moves rows. Returns
        whether the record is of this kind."""
        _, site, operands, _, g, y = record
        if site.op not in MOVED or type(primal(y)) is not Lanes or type(primal(g)) is not Lanes:
            return False
        self.laned, self.site = True, site
        of = primal(y).group
        g = self.lift_to_reached(g, of)
        group = primal(g).group
        if site.op is not PICK_ROWS and (
            group is of or (site.op is PLACE_ROWS and options["of"].each)
        ):
            return False
        for k, n in self.active(record):
            if site.op is PICK_ROWS:
                c = self._back_to_rows(g, **options)
            else:
                own = options["groups"][k] if site.op is MERGE_ROWS else options["of"]
                found = pick_shared(self.run, site.in_derivative(PICK_ROWS), g, own)
                if found is None:
                    continue
                c, _, _ = found
            self.add(n, self.for_operand(c, primal(operands[k])))
        return True

    def _back_to_rows(self, g: Any, index: Any, group: Group, of: Group) -> Any:
        """A cotangent of some of the rows that were picked, as rows of the group they were picked
        from."""
        inner = primal(g).group
        if inner.within(of):
            return g
        rows = index if inner is group else index[inner.way_to(group)]
        way = {
            "index": self.run.backend.xp.arange(inner.size),
            "group": Group(len(rows), of, rows),
            "of": inner,
        }
        return apply(self.run, self.site.in_derivative(PICK_ROWS), (g,), way)

    def lift_to_common(self, a: Any, b: Any, outer: Group | None) -> tuple[Any, Any]:
        if outer is None:
            return self.lift(a, outer), self.lift(b, outer)
        a, b = self.lift_to_reached(a, outer), self.lift_to_reached(b, outer)
        group = united(self.run.backend.xp, primal(a).group, primal(b).group, outer)
        return self._placed(a, group, outer), self._placed(b, group, outer)

    def _placed(self, c: Any, group: Group, outer: Group) -> Any:
        """A cotangent of some rows of a group, extended by zeros to all of its rows; both have rows
        of `outer`."""
        inner = primal(c).group
        if inner.within(group):
            return self.lift(c, group)
        index = self.run.backend.xp.searchsorted(group.way_to(outer), inner.way_to(outer))
        return apply(
            self.run,
            self.site.in_derivative(PLACE_ROWS),
            (c,),
            {"index": index, "group": group, "of": inner},
        )

    def lift_to_all(self, c: Any, group: Group) -> Any:
        self._separate_by_reach(primal(c).group, group)
        return self.lift(c, group)

    def lift(self, c: Any, outer: Group | None) -> Any:
        while type(inner := primal(c)) is Lanes and inner.group is not outer:
            parent = inner.group.parent
            if (
                parent is not None
                and parent is not outer
                and parent.each
                and parent.parent is not None
            ):
                self._separate_by_reach(inner.group, parent.parent)
            way = {"index": inner.group.origin, "group": parent, "of": inner.group}
            c = apply(self.run, self.site.in_derivative(PLACE_ROWS), (c,), way)
        return c

    def _separate_by_reach(self, inner: Group, group: Group) -> None:
        """Separates the rows that run where some of them have rows in a group but none in an inner
        group of it."""
        running = self.run.group
        whole = None if running is None else common(running, group)
        if running is None or whole is None or inner is group or not inner.within(whole):
            return
        there = [self.run.backend.xp.zeros(whole.size, bool) for _ in range(2)]
        for rows, among in zip(there, (group, inner), strict=True):
            rows[slice(None) if among is whole else among.way_to(whole)] = True
        has, reached = (
            there if running is whole else [rows[running.way_to(whole)] for rows in there]
        )
        if bool((has & ~reached).any()):
            raise SeparationError(running, reached.astype("int64"))


def _share(site: Site, k: int) -> tuple[Site | None, list[int]]:
    """The site of the operation that computes the share of operand `k` in a cotangent, and what it
    reads besides the cotangent: operands by index, the result as -1. The site is None where the
    share is the cotangent itself."""
    if partial_formula(site.op, k).is_number(1.0):
        return None, []
    op, reads = cotangent_op(site.op, k)
    return site.in_derivative(op), [-1 if read == "result" else int(read) for read in reads]
