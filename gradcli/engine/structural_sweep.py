"""Structural rules on the way back, in both readings: on plain primals, and through `apply`."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from ..ops import OPS
from .apply import apply
from .backends import CPU, is_complex
from .boxes import primal
from .lane_sweep import LaneSweep, apart_from
from .lanes import Lanes
from .own_rules import OwnCall
from .rules import Language, RowLanguage, Value, array_language
from .tape import Blank, Segment, Site
from .unregistered import UnregisteredError

ADD, PART, REAL, SETITEM = OPS["add"], OPS["part"], OPS["real"], OPS["setitem"]


@cache
def _plain_kinds() -> frozenset[type]:
    """Of values that rules on plain arrays take, with nothing boxed in them."""
    return frozenset((float, Blank, CPU.xp.ndarray))


class StructuralSweep(LaneSweep):
    """The part of a sweep that asks structural operations for their rules: see `Sweep`."""

    segment: Segment
    bodies: bool
    recorded: bool

    def plainly(self, site: Site, operands: Any, options: Any, numbers: tuple[int, ...], g: Any, y: Any, number: int) -> bool:
        """What `structural` does, for plain arrays and floats and an operation with a rule for each operand. Returns whether it
        was one."""
        op = site.op
        rules = op.vjp
        if rules is None or callable(rules) or type(options) is not dict or op.accumulate is not None:
            return False
        if op is SETITEM or op.category == "lanes":
            return False
        if self.run.backend is not CPU or not _plain_kinds().issuperset(map(type, (g, y, *operands))):
            return False
        self.site = site
        m: Any = array_language(CPU, self.run.settings.dtype)
        scalar = CPU.xp.float64
        result, cotangent = scalar(y) if type(y) is float else y, scalar(g) if type(g) is float else g
        values = [scalar(v) if type(v) is float else v for v in operands]
        for k, n in zip(reversed(site.operands), reversed(numbers), strict=True):
            if self.marked is not None and n not in self.marked:
                continue
            rule = rules[k]
            if rule is None:
                self.fail_without_rule(site, number, f"`{op.name}`")
            c = rule(m, cotangent, result, *values, **options)
            self.add(n, self._fit(c, operands[k]), c is not cotangent and not any([c is v for v in values]))  # noqa: C419
        return True

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
        run, op = self.run, site.op
        self.site = site
        inner = primal(y)  # which may be boxed at lower levels, as operands may
        parts = map(primal, (*(g if type(g) is list else (g,)), *operands))
        laned = type(inner) is Lanes or op.category == "lanes" or Lanes in map(type, parts)
        if laned:
            self.laned = self.risks = True
            g = self.each(g, y)
            if op.category == "lanes" and type(inner) is Lanes:
                g = self.lift(g, inner.group)
        if op is PART:
            self._add_part(numbers[0], operands[0], options["index"], g)
            return
        if type(options) is OwnCall:
            options.pull(self, site, operands, numbers, g, y, number)
            return
        if type(options) is tuple:  # element reads and writes keep their index as it is
            options = {"index": options}
        plain = segment is None and not laned
        if plain and op.accumulate is not None:
            self._accumulate(
                op.accumulate, array_language(run.backend, run.settings.dtype), numbers[0], g, y, operands[0], options
            )
            return
        if plain:
            m: Any = array_language(run.backend, run.settings.dtype)
            array = run.backend.xp.ndarray
            values = [v if type(v) is array else run.backend.operand(v) for v in operands]
            result, cotangent = run.backend.operand(y), g if type(g) is list else run.backend.operand(g)
        else:
            m = Language(run, site) if self.recorded else RowLanguage(run, site)
            values = [Value(v, m) for v in operands]
            if segment is not None:
                for k, n in zip(site.operands, numbers, strict=True):
                    if type(operands[k]) is not Blank:
                        values[k] = Value((operands[k], n, segment.holder(n)), m)
            result = Value(y if type(y) is Blank or segment is None else (y, number, segment), m)
            cotangent = [None if part is None else Value(part, m) for part in g] if type(g) is list else Value(g, m)
        if op.accumulate is not None:
            self._accumulate(op.accumulate, m, numbers[0], cotangent, result, values[0], options)
            return
        owned = number in self.owned
        given = set(map(id, (cotangent, result, *values)))
        # The last operand first: a write's buffer is handed on in place only after the value's share was read from it.
        for k, n in reversed(list(zip(site.operands, numbers, strict=True))):
            if self.marked is not None and n not in self.marked:
                continue
            handed_on = op is SETITEM and k == 0  # the buffer or, where others hold it, a copy
            if handed_on:  # a record of a sweep says `inplace` of its own write, which is nothing for the way back
                options = {**options, "inplace": owned and not (laned and self.recorded)}
            if op.signature.variadic and callable(op.vjp):
                c = op.vjp(m, cotangent, result, k, *values, **options)
            else:
                rule = None if op.vjp is None or callable(op.vjp) else op.vjp[k]
                if rule is None:
                    self.fail_without_rule(site, number, f"`{op.name}`")
                c = rule(m, cotangent, result, *values, **options)
            if plain:
                # What a rule gives that isn't one of the arrays it was given, nor a view of one, is new.
                self.add(n, self._fit(c, operands[k]), handed_on or id(c) not in given)
                continue
            like = primal(operands[k])
            if is_complex(primal(c := c.v)) and not is_complex(like):
                c = apply(run, site.derived(REAL), (c,))
            if laned:
                c = apart_from(c) if op is SETITEM and not handed_on else c
                c = self.settled(c, like)
                self.add(n, c, fresh=handed_on and not self.recorded)
                continue
            if handed_on and n not in self.cotangents:
                self.owned.add(n)
            self.add(n, c)

    def _accumulate(self, rule: Any, m: Any, n: int, g: Any, y: Any, x: Any, options: Any) -> None:
        """Adds a small cotangent into the operand's buffer, in place: amortised over a loop of reads."""
        if self.marked is not None and n not in self.marked:
            return
        xp = self.run.backend.xp
        total = self.cotangents.get(n)
        wide = is_complex(primal(g.v) if type(g) is Value else g)
        if self.laned and type(g) is Value and type(primal(g.v)) is Lanes:
            return self.accumulate_lanes(rule, m, n, g, y, x, options)
        if total is None:
            total = xp.zeros(x.shape, "complex128" if wide else x.dtype)
        elif n not in self.owned or (wide and not is_complex(primal(total))):
            zeros = xp.zeros(x.shape, "complex128" if wide else x.dtype)
            total = apply(self.run, self.site.derived(ADD), (total, zeros))
        if type(g) is Value:
            self.cotangents[n] = rule(m, Value(total, m), g, y, x, **options).v
        else:
            self.cotangents[n] = rule(m, total, g, y, x, **options)
        self.owned.add(n)

    def _add_part(self, n: int, parts: int, index: int, g: Any) -> None:
        whole = self.cotangents.setdefault(n, [None] * parts)
        whole[index] = g if whole[index] is None else apply(self.run, self.site.derived(ADD), (whole[index], g))

    def fail_without_rule(self, site: Site, number: int, what: str) -> NoReturn:
        fix = "state the gradient of the function around it: `fn f(…) { … } backward (dy) { … }`"
        raise UnregisteredError(what, site.span, self.segment.calls_to(number), f"cut the path with `detach(…)`, or {fix}")
