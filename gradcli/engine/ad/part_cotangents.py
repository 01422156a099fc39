"""Cotangents of parts of arrays, which are added up in place: a loop that reads or writes elements
takes no array for each."""

from __future__ import annotations

from typing import Any

from ...ops import OPS
from ..backends.backend import CPU, is_complex
from ..operations.apply import apply
from ..operations.rules import Interpretation
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.lanes import Lanes, deepest, zeros
from .row_cotangents import ADD, RowCotangents

GETITEM, SETITEM = OPS["getitem"], OPS["setitem"]


class PartCotangents(RowCotangents):
    """The part of a sweep that hands back cotangents of parts of arrays."""

    marked: set[int] | None

    def element(
        self, site: Site, operands: Any, index: Any, numbers: tuple[int, ...], g: Any, number: int
    ) -> bool:
        """Hands back the cotangent of an element that was read from an array of floats, or of an
        array in which one was written, in place: a loop of these takes no array for each. Returns
        whether the record is of this kind."""
        x, marked = operands[0], self.marked
        if (
            self.recorded
            or self.run.backend is not CPU
            or type(x) is Lanes
            or getattr(x, "dtype", None) != "float64"
            or len(index) != len(x.shape)
            or not all([type(i) is int for i in index])  # noqa: C419
        ):
            return False
        if site.op is GETITEM and type(g) is float:
            n = numbers[0]
            if type(self.cotangents.get(n)) is Lanes:
                return False
            if marked is None or n in marked:
                self.add_element(n, x.shape, index, g)
            return True
        if site.op is SETITEM and type(g) is CPU.ndarray and type(operands[1]) is float:
            g = g if number in self.owned else g.copy()
            if site.operands[-1] == 1 and (marked is None or numbers[-1] in marked):
                self.add(numbers[-1], g.item(index))
            if site.operands[0] == 0 and (marked is None or numbers[0] in marked):
                g[index] = 0.0
                self.add_rest(numbers[0], g, number)
            return True
        return False

    def add_element(self, n: int, shape: tuple[int, ...], index: tuple[int, ...], g: float) -> None:
        """Adds the cotangent of an element to that of its array, which has a shape."""
        total = self.cotangents.get(n)
        if total is None or n not in self.owned:
            total = CPU.xp.zeros(shape) if total is None else total.copy()
            self.cotangents[n] = total
            self.owned.add(n)
        total[index] += g

    def add_rest(self, n: int, g: Any, number: int) -> None:
        """Adds the cotangent of the elements that the write `number` left as they were."""
        self.add(n, g, fresh=True)

    def accumulate(
        self, m: Interpretation, n: int, operand: Any, g: Any, given: tuple[Any, ...], options: Any
    ) -> None:
        """Adds the cotangent `g` of a small part to that of the operand in place, so that a loop of
        reads doesn't take an array for each. `given` are the operands of the rule."""
        rule, run, like = self.site.op.accumulate, self.run, primal(operand)
        assert rule is not None
        group = deepest((primal(g), like)) if self.laned else None
        dtype = "complex128" if is_complex(primal(g)) else like.dtype
        total = self.cotangents.get(n)
        kept = primal(total)

        def added(to: Any) -> Any:
            return m.plain(rule(m.m, m.value(to), *given, **options))

        is_wide = dtype == "complex128" and not is_complex(kept)
        if n in self.owned and getattr(kept, "group", None) is group and not is_wide:
            self.cotangents[n] = added(total)
            return
        empty: Any = (
            run.backend.xp.zeros(like.shape, dtype)
            if group is None
            else zeros(run.backend.xp, like.shape, dtype, group)
        )
        if group is None and type(kept) is not Lanes:
            if total is not None:  # a copy
                empty = apply(run, self.site.in_derivative(ADD), (total, empty))
            self.cotangents[n] = added(empty)
        else:
            c = self.for_operand(added(empty), like)
            self.add(n, c)
            if total is not None or type(primal(c)) is not Lanes:
                return
        self.owned.add(n)
