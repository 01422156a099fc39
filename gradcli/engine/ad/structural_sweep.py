"""The rules of structural operations in a sweep, on plain primals and through `apply`."""

from __future__ import annotations

from typing import Any, NoReturn

from ...ops import OPS
from ...ops.op import Op
from ..backends.backend import CPU, is_complex
from ..operations.apply import apply
from ..operations.rules import Language, RowLanguage, Value, array_language
from ..trace.blanks import Blank
from ..trace.pullbacks import Pullback
from ..trace.tape import Segment, Site
from ..trace.unregistered import UnregisteredError
from ..values.boxes import primal
from ..values.lanes import Lanes
from .lane_sweep import SPREAD_ROWS, LaneSweep, without_alias

ADD, PART, REAL, SETITEM = OPS["add"], OPS["part"], OPS["real"], OPS["setitem"]


class StructuralSweep(LaneSweep):
    """The part of a sweep that calls the rules of structural operations: see `Sweep`."""

    segment: Segment
    bodies: bool
    recorded: bool

    def structural(
        self,
        site: Site,
        operands: Any,
        options: Any,
        numbers: tuple[int, ...],
        g: Any,
        y: Any,
        number: int,
        segment: Segment | None = None,
    ) -> None:
        """Pulls a cotangent back through a structural operation. With `segment`, the operands are
        on the trace, and the work is recorded."""
        op = site.op
        self.site = site
        given = (y, *(g if type(g) is list else (g,)), *operands)
        # Other values may be traced at lower levels.
        plain = all([type(v) is CPU.ndarray or type(v) is float or type(v) is Blank for v in given])  # noqa: C419
        laned = op.category == "lanes" or (not plain and Lanes in map(type, map(primal, given)))
        if laned:
            self.laned = self.risks = True
            g = self.to_each_row(g, y)
            if op.category == "lanes" and type(primal(y)) is Lanes:
                g = self.lift_to_all(g, primal(y).group)
        if op is PART:
            self._add_part(numbers[0], operands[0], options["index"], g)
            return
        if op is SPREAD_ROWS:  # which rows to sum over depends on the request
            self.add(numbers[0], self.for_operand(g, operands[0]))
            return
        if isinstance(options, Pullback):
            options.pull(self, site, operands, numbers, g, y, number)
            return
        if type(options) is tuple:  # element reads and writes keep their index as it is
            options = {"index": options}
        if segment is None and not laned:
            self._by_arrays(site, operands, options, numbers, g, y, number)
        else:
            self._by_language((site, operands, options, numbers, g, y, number), segment, laned)

    def _by_arrays(
        self,
        site: Site,
        operands: Any,
        options: Any,
        numbers: tuple[int, ...],
        g: Any,
        y: Any,
        number: int,
    ) -> None:
        """Adds the shares of the operands by rules on plain arrays."""
        op, run, backend = site.op, self.run, self.run.backend
        m: Any = array_language(backend, run.settings.dtype)
        if op.accumulate is not None:
            self._accumulate(op.accumulate, m, numbers[0], g, y, operands[0], options)
            return
        array = backend.xp.ndarray
        values = [v if type(v) is array else backend.operand(v) for v in operands]
        result = y if type(y) is array else backend.operand(y)
        cotangent = g if type(g) is array or type(g) is list else backend.operand(g)
        given = {id(v) for v in (cotangent, result, *values)}
        for k, n in self._active_operands(site, numbers):
            options, donated = self._donation(op, k, options, number)
            c = self._share(site, k, number, m, cotangent, result, values, options)
            # A result that is none of the arrays that the rule was given is new; `add` recognises
            # views of them.
            self.add(n, self._fit(c, operands[k]), donated or id(c) not in given)

    def _by_language(
        self,
        record: tuple[Site, Any, Any, tuple[int, ...], Any, Any, int],
        segment: Segment | None,
        laned: bool,
    ) -> None:
        """Adds the shares of the operands by rules on values of the language, for operands that are
        traced or lanes."""
        site, operands, options, numbers, g, y, number = record
        run, op = self.run, site.op
        m = Language(run, site) if self.recorded else RowLanguage(run, site)
        values = [Value(v, m) for v in operands]
        if segment is not None:
            for k, n in zip(site.operands, numbers, strict=True):
                if type(operands[k]) is not Blank:
                    values[k] = Value((operands[k], n, segment.holder(n)), m)
        result = Value(y if type(y) is Blank or segment is None else (y, number, segment), m)
        cotangent = (
            [None if part is None else Value(part, m) for part in g]
            if type(g) is list
            else Value(g, m)
        )
        if op.accumulate is not None:
            self._accumulate(op.accumulate, m, numbers[0], cotangent, result, values[0], options)
            return
        for k, n in self._active_operands(site, numbers):
            options, donated = self._donation(op, k, options, number, laned and self.recorded)
            c = self._share(site, k, number, m, cotangent, result, values, options).v
            like = primal(operands[k])
            if is_complex(primal(c)) and not is_complex(like):
                c = apply(run, site.in_derivative(REAL), (c,))
            if laned:
                c = without_alias(c) if op is SETITEM and not donated else c
                self.add(n, self.for_operand(c, like), fresh=donated and not self.recorded)
                continue
            if donated and n not in self.cotangents:
                self.owned.add(n)
            self.add(n, c)

    def _active_operands(self, site: Site, numbers: tuple[int, ...]) -> list[tuple[int, int]]:
        """The operands that lead to a source, with their numbers, the last one first: a write
        donates its buffer to the array only after the value's share was read from it."""
        asked = zip(site.operands, numbers, strict=True)
        return [(k, n) for k, n in asked if self.marked is None or n in self.marked][::-1]

    def _donation(
        self, op: Op, k: int, options: Any, number: int, recorded: bool = False
    ) -> tuple[Any, bool]:
        """The options of the rule for an operand, and whether the rule gives it the cotangent's
        buffer. That is so for the array of a `setitem`, which gets a copy if the buffer has an
        alias. The record's own `inplace` doesn't matter, as it is about the array's buffer."""
        if op is not SETITEM or k != 0:
            return options, False
        return {**options, "inplace": number in self.owned and not recorded}, True

    def _share(
        self,
        site: Site,
        k: int,
        number: int,
        m: Any,
        cotangent: Any,
        result: Any,
        values: list[Any],
        options: Any,
    ) -> Any:
        """The share of an operand by its rule. Raises UnregisteredError where it has none."""
        rules = site.op.vjp
        if site.op.signature.variadic and callable(rules):
            return rules(m, cotangent, result, k, *values, **options)
        rule = None if rules is None or callable(rules) else rules[k]
        if rule is None:
            self.fail_without_rule(site, number, f"`{site.op.name}`")
        return rule(m, cotangent, result, *values, **options)

    def _accumulate(self, rule: Any, m: Any, n: int, g: Any, y: Any, x: Any, options: Any) -> None:
        """Adds the cotangent of a small part to the operand's buffer in place, so that a loop of
        reads doesn't take an array for each."""
        if self.marked is not None and n not in self.marked:
            return
        xp = self.run.backend.xp
        total = self.cotangents.get(n)
        wide = is_complex(primal(g.v) if type(g) is Value else g)
        if self.laned and type(g) is Value and type(primal(g.v)) is Lanes:
            return self.accumulate_lanes(rule, m, n, g, y, x, options)
        if self.laned and type(primal(total)) is Lanes:  # a shared part beside lanes
            del self.cotangents[n]
            self.owned.discard(n)
            self._accumulate(rule, m, n, g, y, x, options)
            self.add(n, total)
            return
        if total is None:
            total = xp.zeros(x.shape, "complex128" if wide else x.dtype)
        elif n not in self.owned or (wide and not is_complex(primal(total))):
            zeros = xp.zeros(x.shape, "complex128" if wide else x.dtype)
            total = apply(self.run, self.site.in_derivative(ADD), (total, zeros))
        if type(g) is Value:
            self.cotangents[n] = rule(m, Value(total, m), g, y, x, **options).v
        else:
            self.cotangents[n] = rule(m, total, g, y, x, **options)
        self.owned.add(n)

    def _add_part(self, n: int, parts: int, index: int, g: Any) -> None:
        """Adds the cotangent of one result to those of an operation with several results."""
        whole = self.cotangents.setdefault(n, [None] * parts)
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
