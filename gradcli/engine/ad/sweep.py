"""The reverse sweep: one pass over the records, newest first, that hands the cotangent of each
result back to its operands.

`Sweep` computes with plain numbers and arrays. `RecordedSweep` (recorded_sweep.py) computes with
values of the language, so that what it does can be differentiated again. What both need for
cotangents of parts of arrays is in part_cotangents.py, and for those that differ between rows in
row_cotangents.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeAlias

from ...ops import OPS
from ...ops.op import OpError
from ...ops.rules import OfSeveral
from ..backends.backend import Backend, is_complex, shape_of, sum_to
from ..formulas.differentiation import is_bounded
from ..formulas.functions import array_pull, scalar_pull
from ..operations.apply import apply
from ..operations.rules import Interpretation
from ..operations.structural import refuse
from ..trace.pullbacks import Passed, Pullback
from ..trace.run import Run
from ..trace.tape import Segment, Site, Traced
from ..trace.unregistered import UnregisteredError
from ..trace.windows import STRIDE, inputs_of, operands_of
from ..values.boxes import primal
from ..values.lanes import Group, Lanes, deepest, spread, with_rows
from .part_cotangents import SETITEM, PartCotangents
from .row_cotangents import ADD, SPREAD_ROWS, fitted, typed, without_alias

BLOCK = 64  # records; a sweep that reaches only a few skips the rest of a segment
PART, REAL = OPS["part"], OPS["real"]

Seeds: TypeAlias = "list[tuple[Traced, Any]]"  # targets and their cotangents


class Sweep(PartCotangents):
    """A reverse sweep over the trace.

    cotangents     by number, the cotangents of records and leaves that the sweep has yet to reach
    wanted         the numbers whose cotangents are asked for
    found          those of them that the sweep has reached
    marked         the records that depend on a source; None for all
    outside        sources that a window watches but didn't record: the sweep ends at them
    repairs        whether products are strict: 0 where the cotangent or the partial is 0
    risks          whether there was a product that may need the strict form: with a partial that
                   may be infinite
    owned          the numbers whose cotangent is a buffer without aliases
    bodies         whether functions with their own rule are differentiated through their bodies
    site, segment  of the record that is being passed
    """

    recorded = False

    def __init__(
        self,
        run: Run,
        wanted: set[int],
        marked: set[int] | None,
        outside: set[int],
        repairs: bool = False,
        bodies: bool = False,
    ) -> None:
        self.run, self.wanted, self.marked = run, wanted, marked
        self.outside, self.repairs, self.bodies = outside, repairs, bodies
        self.cotangents: dict[int, Any] = {}
        self.owned: set[int] = set()
        self.found: dict[int, Any] = {}
        self.risks = self.laned = False
        self.request_group = run.group
        self.site: Site
        self.segment: Segment

    def over(self, segments: list[Segment], seeds: Seeds) -> dict[int, Any]:
        """Passes the segments, newest first. Returns the cotangents of what is wanted."""
        marked = self.marked
        if len(seeds) > 1:  # several may be of one target, and are added
            self.laned = any(type(primal(cotangent)) is Lanes for _, cotangent in seeds)
        for target, cotangent in seeds:
            if marked is None or target[1] in marked:
                self.add(target[1], cotangent)
        try:
            for segment in segments:
                self.segment = segment
                for record in self._reached(segment):
                    self.pull(*record)
        except OpError as error:  # a rule called an op that isn't defined everywhere, such as `inv`
            refuse(self.run, self.site.in_derivative(self.site.op), error)
        for number in self.wanted:  # leaves have no record, so their cotangents are still pending
            if number in self.cotangents and (marked is None or number in marked):
                self.found[number] = self.cotangents[number]
        if self.laned:
            return {number: self.for_request(c) for number, c in self.found.items()}
        return self.found

    # ---- the records -----------------------------------------------------------------------------

    def _reached(self, segment: Segment) -> Iterator[tuple[Any, ...]]:
        """The records of a segment that a cotangent reaches, newest first, each as its number, its
        cotangent and its entries (see Note [Records] in tape.py). Keeps the cotangents that are
        wanted."""
        cotangents, wanted, marked = self.cotangents, self.wanted, self.marked
        pop = cotangents.pop
        for number, flat in self._blocks(segment):
            for y, b, a, in1, in0, site in zip(flat, flat, flat, flat, flat, flat, strict=True):
                number -= 1
                g = pop(number, None)
                if g is None or (marked is not None and number not in marked):
                    continue
                if number in wanted:
                    self.found[number] = g
                    self.owned.discard(number)
                    if number in self.outside:
                        continue
                yield number, g, site, in0, in1, a, b, y

    def _blocks(self, segment: Segment) -> Iterable[tuple[int, Iterator[Any]]]:
        """The records of a segment in blocks, newest first, from the newest to the oldest that a
        cotangent may reach. Each block is the number after its last record, and its flat entries in
        reverse."""
        end = len(segment.records) // STRIDE
        if end > BLOCK:
            return self._blocks_to(segment, end)
        return ((segment.first + end, reversed(segment.records)),)

    def _blocks_to(self, segment: Segment, end: int) -> Iterator[tuple[int, Iterator[Any]]]:
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
            # Otherwise looking for pending cotangents costs more than it saves.
            idle = self._state() == before or len(self.cotangents) < BLOCK // 8
            if idle and not any(n >= segment.first for n in self.cotangents):
                return

    def _state(self) -> tuple[int, int | None]:
        """The number of pending cotangents and the newest of them: changes with every record that a
        cotangent passes."""
        return len(self.cotangents), next(reversed(self.cotangents), None)

    def pull(
        self, number: int, g: Any, site: Site, in0: Any, in1: Any, a: Any, b: Any, y: Any
    ) -> None:
        """Hands the cotangent `g` of a record back to its inputs."""
        if type(g) is float and type(y) is float and site.inline_operands:
            self.risks = True
            pull = None if self.repairs else site.pull
            c = (pull or pull_on_floats(self.run.backend, site, self.repairs))(g, y, a, b)
            pending = self.cotangents
            if in1 is None:
                pending[in0] = pending[in0] + c if in0 in pending else c
            else:
                c, d = c
                pending[in0] = pending[in0] + c if in0 in pending else c
                pending[in1] = pending[in1] + d if in1 in pending else d
            return
        if site.op is PART and type(g) is float and type(y) is float:
            self.site = site
            self.add_part(in0, a[0], b["index"], g)
            return
        inputs = inputs_of(in0, in1)
        if site.op.elementwise:
            self.elementwise(Passed(number, site, operands_of(site, a, b), inputs, g, y))
        elif type(b) is not tuple or not self.element(site, a, b, inputs, g, number):
            self.structural(Passed(number, site, a, inputs, g, y), b)

    def active(self, record: Passed) -> list[tuple[int, int]]:
        """The operands that lead to a source: their indices and numbers."""
        pairs = zip(record.site.operands, record.inputs, strict=True)
        return [(k, n) for k, n in pairs if self.marked is None or n in self.marked]

    # ---- elementwise operations ------------------------------------------------------------------

    def elementwise(self, record: Passed) -> None:
        """Hands a cotangent back through an elementwise operation on arrays, with rows last where
        there are any."""
        number, site, operands, _, g, y = record
        backend, self.site = self.run.backend, site
        group = deepest((g, y, *operands))
        cotangent, values = g, (y, *operands)
        if group is not None:
            self.laned = True
            cotangent = spread(backend.xp, g, group).array
            values = tuple([with_rows(v, group) for v in values])
        for k, n in self.active(record):
            operand = operands[k]
            self.risks = self.risks or not is_bounded(site.op, k)
            self.verify_rule(site, operand, number)
            own = shape_of(operand) if group is None else (*shape_of(operand), group.size)
            pull = array_pull(backend, site.op, k, self.repairs, not own)
            c = pull(cotangent, *values)
            is_alike = group is None or (type(operand) is Lanes and operand.group is group)
            if not own or own != shape_of(cotangent) or not is_alike:
                self.add(n, self._for_shape(c, operand, own, group))
                continue
            fresh = c is not cotangent
            c = fitted(backend, c, operand) if group is None else Lanes(typed(c, operand), group)
            self.add(n, c, fresh)

    def _for_shape(self, c: Any, operand: Any, shape: tuple[int, ...], group: Group | None) -> Any:
        """A share of a cotangent in the shape and form of its operand."""
        if group is None:
            return fitted(self.run.backend, c, operand)
        return self.for_operand(Lanes(typed(sum_to(c, shape), operand), group), operand)

    def verify_rule(self, site: Site, operand: Any, number: int) -> None:
        """Raises UnregisteredError where the op has no derivative at a complex operand."""
        if site.op.real_only and is_complex(operand):
            self.fail_without_rule(site, number, f"`{site.op.name}` of a complex number")

    # ---- structural operations -------------------------------------------------------------------

    def boxed(self, value: Any, n: int) -> Any:
        """The value `n` as rules take it."""
        return value

    def structural(self, record: Passed, options: Any) -> None:
        """Hands a cotangent back through a structural operation, by its rule."""
        number, site, operands, inputs, g, y = record
        op, run, self.site = site.op, self.run, site
        kept = (y, *(g if type(g) is list else (g,)), *operands)
        laned = op.category == "lanes" or Lanes in map(type, map(primal, kept))
        if laned:
            self.laned = self.risks = True
            g = self.to_each_row(g, y)
            if op.category == "lanes" and type(primal(y)) is Lanes:
                g = self.lift_to_all(g, primal(y).group)
        if op is PART:
            self.add_part(inputs[0], operands[0], options["index"], g)
            return
        if op is SPREAD_ROWS:  # which rows to sum over depends on the request
            self.add(inputs[0], self.for_operand(g, operands[0]))
            return
        if isinstance(options, Pullback):
            options.pull(self, record._replace(g=g))
            return
        if type(options) is tuple:  # element reads and writes keep their index as it is
            options = {"index": options}
        m = Interpretation(run, site, self.recorded, laned)
        boxed = list(operands)
        for k, n in zip(site.operands, inputs, strict=True):
            boxed[k] = self.boxed(operands[k], n)
        values = [m.value(v) for v in boxed]
        given = m.values(g), m.value(self.boxed(y, number))
        active = self.active(record)
        if laned and op.rows_total is not None:
            active = [pair for pair in active if not self.add_total(*pair, g, operands, options)]
        if op.accumulate is not None:
            for k, n in active:
                self.accumulate(m, n, operands[k], g, (*given, *values), options)
            return
        known = {id(v) for v in (*given, *values)}
        shares: dict[int, Any] = {}
        if isinstance(op.vjp, OfSeveral):
            places = [k for k, _ in active]
            found = op.vjp.several(m.m, *given, places, *values, **options)
            shares = dict(zip(places, found, strict=True))
        # The last operand first: a write donates its buffer to the array only after the value's
        # share was read from it.
        for k, n in reversed(active):
            donated = op is SETITEM and k == 0
            if donated:  # it gets a copy if the buffer has an alias, or the record needs it
                inplace = number in self.owned and not (laned and self.recorded)
                options = {**options, "inplace": inplace}
            share = (
                shares[k]
                if shares
                else self._share(site, k, number, (m.m, *given, *values), options)
            )
            c, like = m.plain(share), primal(operands[k])
            if m.is_array:
                self.add(n, fitted(run.backend, c, like), donated or id(share) not in known)
                continue
            if is_complex(primal(c)) and not is_complex(like):
                c = apply(run, site.in_derivative(REAL), (c,))
            if laned:
                c = self.for_operand(without_alias(c) if op is SETITEM and not donated else c, like)
            self.add(n, c, donated and not (laned and self.recorded))

    def _share(self, site: Site, k: int, number: int, given: Any, options: Any) -> Any:
        """The share of an operand by its rule. Raises UnregisteredError where it has none."""
        rules, (m, g, y, *values) = site.op.vjp, given
        if site.op.signature.variadic and callable(rules):
            return rules(m, g, y, k, *values, **options)
        rule = None if rules is None or callable(rules) else rules[k]
        if rule is None:
            self.fail_without_rule(site, number, f"`{site.op.name}`")
        return rule(m, g, y, *values, **options)

    def add_part(self, n: int, parts: int, index: int, g: Any) -> None:
        """Adds the cotangent of one result to those of an operation with several results."""
        whole = self.cotangents.get(n)
        if whole is None:
            whole = self.cotangents[n] = [None] * parts
        whole[index] = (
            g
            if whole[index] is None
            else apply(self.run, self.site.in_derivative(ADD), (whole[index], g))
        )

    def fail_without_rule(self, site: Site, number: int, what: str) -> NoReturn:
        """Raises UnregisteredError for a record whose operation has no derivative rule."""
        fix = "state the gradient of the function around it: `fn f(…) { … } backward (dy) { … }`"
        raise UnregisteredError(
            what,
            site.span,
            self.segment.calls_to(number),
            f"cut the path with `detach(…)`, or {fix}",
        )

    # ---- sums ------------------------------------------------------------------------------------

    def add(self, n: int, c: Any, fresh: bool = False) -> None:
        """Adds a cotangent to the pending one of `n`; with `fresh` it has no alias."""
        old = self.cotangents.get(n)
        if old is None:
            self.cotangents[n] = c
            array: Any = getattr(primal(c), "array", primal(c)) if fresh else None  # of rows
            if shape_of(array) and array.base is None:
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
        function: Any = lambda g, y, a, b: fitted(backend, pull(g, y, a), a)  # noqa: E731
    else:
        function = scalar_pull(site.op, site.operands, repairs)
    if not repairs:
        site.pull = function
    return function
