"""The reverse sweep on plain primals: floats by generated pullbacks, arrays by generated array
functions.

`recorded_sweep.py` has the sweep through `apply`, and `structural_sweep.py` the rules of structural
operations for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...ops import OPS
from ..backends.backend import CPU, Backend, is_complex, shape_of, sum_to
from ..formulas.functions import array_pull, scalar_pull
from ..formulas.reading import is_bounded
from ..operations.apply import apply
from ..trace.blanks import Blank
from ..trace.run import Run
from ..trace.tape import Segment, Site
from ..trace.windows import STRIDE, inputs_of
from ..values.boxes import primal
from ..values.lanes import Lanes
from .structural_sweep import SETITEM, StructuralSweep

ADD = OPS["add"]
BLOCK = 64  # records; a sweep that reaches only a few skips the rest of a segment
GETITEM = OPS["getitem"]


class Sweep(StructuralSweep):
    """A reverse sweep over the trace.

    cotangents     by number, the cotangents of records and leaves that the sweep has yet to reach
    marked         the records that depend on a source; None for all
    outside        sources that a window watches but didn't record: the sweep ends at them
    repairs        whether products are strict: 0 where the cotangent or the partial is 0 (`sweep`)
    owned          the numbers whose cotangent is a buffer without aliases
    risks          whether there was a product that may need the strict form: with a partial that
                   may be infinite
    bodies         whether functions with their own rule are differentiated through their bodies
    request_group  the rows of the request; values that they share sum over rows opened inside
    laned          whether some cotangent has rows
    """

    recorded = False

    def __init__(
        self,
        run: Run,
        wanted: set[int],
        marked: set[int] | None,
        outside: set[int],
        repairs: bool = False,
    ) -> None:
        self.run, self.wanted, self.marked = run, wanted, marked
        self.outside, self.repairs = outside, repairs
        self.cotangents: dict[int, Any] = {}
        self.owned: set[int] = set()
        self.found: dict[int, Any] = {}
        self.risks = self.bodies = self.laned = False
        self.request_group = run.group
        self.site: Site  # of the record being passed
        self.segment: Segment  # which holds it

    def blocks(self, segment: Segment) -> Iterable[tuple[int, Iterator[Any]]]:
        """The records of a segment in blocks, newest first, from the newest to the oldest that a
        cotangent may reach. Each block is the number after its last record, and its flat entries in
        reverse."""
        end = len(segment.records) // STRIDE
        if end > BLOCK:
            return self._blocks(segment, end)
        return ((segment.first + end, reversed(segment.records)),)

    def _blocks(self, segment: Segment, end: int) -> Iterator[tuple[int, Iterator[Any]]]:
        """The blocks of a long segment with `end` records."""
        newest = max((n for n in self.cotangents if n >= segment.first), default=-1)
        end = min(newest - segment.first + 1, end)
        size = BLOCK // 8
        while end > 0:
            start = max(0, end - size)
            before = self._state()
            yield segment.first + end, reversed(segment.records[start * STRIDE : end * STRIDE])
            end = start
            size = min(2 * size, BLOCK)
            idle = (
                self._state() == before or len(self.cotangents) < BLOCK // 8
            )  # otherwise looking for pending cotangents costs more than it saves
            if idle and not any(n >= segment.first for n in self.cotangents):
                return

    def _state(self) -> tuple[int, int | None]:
        """The number of pending cotangents and the newest of them: changes with every record that a
        cotangent passes."""
        return len(self.cotangents), next(reversed(self.cotangents), None)

    def reached(self, segment: Segment) -> Iterator[tuple[int, Any, tuple[Any, ...]]]:
        """The records of a segment that a cotangent reaches, newest first, each as its number, its
        cotangent and its entries (site, in0, in1, a, b, y). Keeps the cotangents that are wanted.
        `through` of a sweep that isn't recorded does this without a generator, for speed."""
        self.segment = segment
        for number, flat in self.blocks(segment):
            for y, b, a, in1, in0, site in zip(flat, flat, flat, flat, flat, flat, strict=True):
                number -= 1
                g = self.cotangents.pop(number, None)
                if g is None or (self.marked is not None and number not in self.marked):
                    continue
                if number in self.wanted:
                    self.found[number] = g
                    self.owned.discard(number)
                    if number in self.outside:
                        continue
                yield number, g, (site, in0, in1, a, b, y)

    def through(self, segment: Segment) -> None:
        """Pulls the cotangents of a segment's records back to their inputs."""
        cotangents, wanted, owned, marked = self.cotangents, self.wanted, self.owned, self.marked
        self.segment = segment
        pop = cotangents.pop
        inner = bool(wanted) and max(wanted) >= segment.first
        elements, repairs = self.run.backend is CPU, self.repairs
        floats = False
        for number, flat in self.blocks(segment):
            for y, b, a, in1, in0, site in zip(flat, flat, flat, flat, flat, flat, strict=True):
                number -= 1
                g = pop(number, None)
                if g is None or (marked is not None and number not in marked):
                    continue
                if inner and number in wanted:
                    self.found[number] = g
                    owned.discard(number)
                    if number in self.outside:
                        continue
                if type(g) is float and type(y) is float and site.inline_operands:
                    floats = True
                    pull = (None if repairs else site.pull) or pull_on_floats(
                        self.run.backend, site, repairs
                    )
                    c = pull(g, y, a, b)
                    if in1 is not None:
                        c, d = c
                        if in0 in cotangents:
                            cotangents[in0] += c
                        else:
                            cotangents[in0] = c
                        if in1 in cotangents:
                            cotangents[in1] += d
                        else:
                            cotangents[in1] = d
                    elif type(in0) is int:
                        if in0 in cotangents:
                            cotangents[in0] += c
                        else:
                            cotangents[in0] = c
                    else:
                        for n, d in zip(in0, c, strict=True):
                            if n in cotangents:
                                cotangents[n] += d
                            else:
                                cotangents[n] = d
                elif site.inline_operands:
                    self._elementwise(
                        site,
                        (a, b)[: len(site.op.signature.operands)],
                        inputs_of(in0, in1),
                        g,
                        y,
                        number,
                    )
                elif site.op.elementwise:
                    self._elementwise(site, a, inputs_of(in0, in1), g, y, number)
                elif not (
                    (
                        elements
                        and type(b) is tuple
                        and self._element(site, a, b, inputs_of(in0, in1), g, number)
                    )
                    or (
                        type(g) is Lanes
                        and not self.recorded
                        and self._pull_move_of_rows(site, a, b, in0, in1, g, y)
                    )
                ):
                    self.structural(site, a, b, inputs_of(in0, in1), g, y, number)
        self.risks = self.risks or floats

    def _pull_move_of_rows(
        self, site: Site, operands: Any, options: Any, in0: Any, in1: int | None, g: Lanes, y: Any
    ) -> bool:
        """The fast path for lanes of operations that move elements. Returns whether the operation
        is one of these."""
        if self.is_shared(operands, g, y):
            return self.pull_move(site, operands, options, inputs_of(in0, in1), g)
        return site.op is GETITEM and self.pull_part(operands[0], options, in0, g)

    def _element(
        self, site: Site, operands: Any, index: Any, numbers: tuple[int, ...], g: Any, number: int
    ) -> bool:
        """The fast path of `getitem` and `setitem` for one element of a float64 vector, which is
        frequent in loops. Returns whether the record is of this kind."""
        x = operands[0]
        if (
            len(index) != 1
            or type(index[0]) is not int
            or len(x.shape) != 1
            or x.dtype.char != "d"
            or self.marked is not None
        ):
            return False
        k, n = index[0], numbers[0]
        if site.op is GETITEM and type(g) is float:
            total = self.cotangents.get(n)
            if total is None or n not in self.owned:
                total = CPU.xp.zeros(x.shape) if total is None else total.copy()
                self.cotangents[n] = total
                self.owned.add(n)
            total[k] += g
            return True
        if (
            site.op is SETITEM
            and type(g) is CPU.xp.ndarray
            and g.dtype.char == "d"
            and type(operands[1]) is not Blank
        ):
            if number not in self.owned:
                g = g.copy()
            if site.operands[-1] == 1:
                self.add(numbers[-1], g.item(k))
            if site.operands[0] == 0:
                g[k] = 0.0
                self.add(n, g, fresh=True)
            return True
        return False

    def _elementwise(
        self, site: Site, operands: Any, numbers: tuple[int, ...], g: Any, y: Any, number: int
    ) -> None:
        """Pulls a cotangent back through an elementwise operation."""
        backend, marked = self.run.backend, self.marked
        if type(g) is Lanes or type(y) is Lanes:
            return self.pull_on_lanes(site, operands, numbers, g, y, number)
        shape = shape_of(g)
        free = number in self.owned  # whether the last operand's share may be written over `g`
        for k, n in zip(site.operands, numbers, strict=True):
            if marked is not None and n not in marked:
                continue
            own = shape_of(operands[k])
            self.risks = self.risks or not is_bounded(site.op, k)
            if site.op.real_only:
                self.verify_rule(site, operands[k], number)
            pull = array_pull(backend, site.op, k, self.repairs, not own)
            if not shape or own != shape:
                self.add(n, self._fit(pull(g, y, *operands), operands[k]))
                continue
            total = self.cotangents.get(n)
            if (
                total is not None
                and n in self.owned
                and total.dtype == operands[k].dtype == g.dtype
            ):
                self.cotangents[n] = pull(g, y, *operands, onto=total)
                continue
            into = g if free and k == site.operands[-1] else None
            c = pull(g, y, *operands, into=into)
            free = free and c is not g
            self.add(n, self._fit(c, operands[k]), fresh=c is not g or into is not None)

    def verify_rule(self, site: Site, operand: Any, number: int) -> None:
        """Raises UnregisteredError where the op has no derivative at a complex operand."""
        if site.op.real_only and is_complex(operand):
            self.fail_without_rule(site, number, f"`{site.op.name}` of a complex number")

    def _fit(self, c: Any, operand: Any) -> Any:
        """A cotangent in its operand's shape and dtype: summed over broadcast axes, and real for a
        real operand."""
        if type(operand) is float and isinstance(c, float):
            return float(c)
        shape = shape_of(operand)
        if shape and shape == c.shape and c.dtype is operand.dtype:
            return c
        if shape_of(c) != shape:
            c = sum_to(c, shape)
        if shape:
            return self._typed(c, operand)
        c = c.real if is_complex(c) and not is_complex(operand) else c
        if type(operand) is float:
            return float(c)
        c = self.run.backend.settle(c)
        return operand.dtype.type(c) if hasattr(operand, "dtype") and not is_complex(c) else c

    def _typed(self, c: Any, operand: Any) -> Any:
        """A cotangent in its operand's dtype."""
        if is_complex(c) and not is_complex(operand):
            c = c.real
        dtype = getattr(operand, "dtype", None) or (
            "complex128" if type(operand) is complex else "float64"
        )
        return c.astype(dtype) if c.dtype != dtype and not is_complex(c) else c

    def add(self, n: int, c: Any, fresh: bool = False) -> None:
        """Adds a cotangent to the pending one of `n`; with `fresh` it has no alias."""
        old = self.cotangents.get(n)
        if old is None:
            self.cotangents[n] = c
            if fresh and (
                (type(c) is Lanes and c.array.base is None)
                or (type(c) is not Lanes and shape_of(c) and c.base is None)
            ):
                self.owned.add(n)
        elif type(old) is float and type(c) is float:
            self.cotangents[n] = old + c
        elif self.laned and Lanes in (type(primal(old)), type(primal(c))):
            self.add_lanes(n, old, c, fresh)
        elif self.recorded:
            self.cotangents[n] = apply(self.run, self.site.in_derivative(ADD), (old, c))
            self.owned.add(n)
        elif n in self.owned and shape_of(old) and old.dtype == c.dtype:
            old += c
        else:
            self.cotangents[n] = old + c
            if shape_of(old):
                self.owned.add(n)


def pull_on_floats(backend: Backend, site: Site, repairs: bool) -> Any:
    """The pullback of a site on floats. The one without strict products is kept at the site."""
    if site.takes_complex:
        pull = array_pull(backend, site.op, 0, repairs, False)
        function: Any = lambda g, y, a, b: backend.settle(pull(g, y, a))  # noqa: E731
    else:
        function = scalar_pull(site.op, site.operands, repairs)
    if not repairs:
        site.pull = function
    return function
