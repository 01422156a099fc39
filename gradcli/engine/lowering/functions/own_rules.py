"""Functions with a derivative rule of their own, in IR: a call of one is a call of a region, and
the rule is a region, too.

The rule's region runs the body of the function again, for the names that the rule reads, and then
the rule, where the body returns. Forward mode goes through the body.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from ....ops import OPS
from ...ir.instructions import Block, Region, Value
from ...ir.scalars import WHERE
from ...ir.types import ArrayType, has_tangents
from ...passes.calls import Rule
from ...passes.failing import may_fail
from ..held.kinds import Array, Mixed, Record, Stored, flat, fresh, items_in, leaves, plain
from ..held.names import Closure, NotCompiled
from .recursion import Recursion, Specialised

EQ, ALL, ISFINITE = (OPS[name] for name in ("eq", "all", "isfinite"))


class OwnRules(Recursion):
    """The lowering of functions with rules of their own.

    traces_variables  whether a value that isn't constant may be traced, though the region isn't
                      told so: then no function with a rule captures one
    is_whole          whether the region is all that runs, so that it steps back where a rule does
    """

    traces_variables = is_whole = False

    def entered(self, callee: Closure, arguments: list[Any]) -> Any:
        if callee.function.rule is None:
            return super().entered(callee, arguments)
        captured = self.names.of(self.names_read(callee, arguments))
        if self.traces_variables and any(
            has_tangents(each.type) and each not in self.builder.known
            for each in flat(self.values(captured))
        ):
            raise NotCompiled("a rule of a function that captures variables is not compiled")
        return self.called_region(callee, arguments)

    def complete(self, made: Specialised) -> None:
        if made.callee.function.rule is not None:
            self.regions.add_rule(made.region.name, self.lowered_rule(made))

    def lowered_rule(self, made: Specialised) -> Rule:
        """The rule of a function."""
        rule = made.callee.function.rule
        assert rule is not None
        assert made.result is not None
        dy = fresh(plain(made.result))
        if not all(has_tangents(each.type) for each in flat(dy)):
            raise NotCompiled("a rule is compiled only for floats")

        def answer(_: Any) -> Any:
            with self.builder.inside(Block()) as block:
                given = self.value(self.entered(Closure(rule, self.frame, ()), [dy]))
                answers = tuple(self.paired_answers(arguments, given, dy))
            # When the call isn't there any more, nothing can step back.
            if not self.is_whole and may_fail(block, self.regions):
                raise NotCompiled("a rule that may fail is not compiled")
            self.builder.block.instructions += block.instructions
            return answers

        def body_of(given: list[Any]) -> Any:
            arguments[:] = given
            with self.frame_of(made.callee, arguments):
                return self.call_body(made.callee.function, self.from_here(answer))

        arguments: list[Any] = []
        block, found = self.lowered_region(made, body_of)
        block.parameters += tuple(flat(dy))
        block.results = tuple(flat(found))
        parameters = made.region.block.parameters
        outside = [each for kind in made.outside.values() for each in flat(kind)]
        first = len(parameters) - len(outside)
        moving = [k for k in range(first) if has_tangents(parameters[k].type)]
        region = Region(f"rule_of_{made.region.name}", block)
        return Rule(region, moving, range(first, len(parameters)))

    def paired_answers(self, arguments: list[Any], answer: Any, dy: Any) -> Iterator[Value]:
        """The cotangents of arguments that a rule returns, each with whether it is connected. A
        rule returns a list of one for each argument; for a single argument, it may return the
        cotangent itself."""
        if len(arguments) == 1 and not _is_wrapped(arguments[0], answer):
            answer = (answer,)
        if type(answer) is not tuple or len(answer) != len(arguments):
            raise NotCompiled("a rule doesn't return one gradient for each parameter")
        for held, g in zip(arguments, answer, strict=True):
            yield from self.answers(held, g, dy)

    def answers(self, held: Any, g: Any, dy: Any) -> Iterator[Value]:
        """The same for one argument."""
        g = self.value(g)
        moving = [each for each in flat(held) if has_tangents(each.type)]
        if g is None:
            for each in moving:
                is_array = isinstance(each.type, ArrayType)
                yield self.builder.zero(each.type) if is_array else self.builder.constant(-0.0)
                yield self.builder.constant(False)
        elif isinstance(held, tuple | Record):
            items = items_in(held)
            parts = g.items if isinstance(g, Record) else self.rows(g)
            keys = [each.keys if isinstance(each, Record) else None for each in (held, g)]
            if keys[0] != keys[1] or len(parts) != len(items):
                raise NotCompiled("a rule returns a gradient of another structure")
            for item, part in zip(items, parts, strict=True):
                yield from self.answers(item, part, dy)
        elif moving:
            for each in flat(self.strict_answer(self.fitted_answer(held, g), dy)):
                yield each
                yield self.builder.constant(True)

    def fitted_answer(self, held: Any, g: Any) -> Any:
        """A gradient by a number or an array, as floats."""
        g = self.whole(self.as_array(g) if type(g) is tuple else g)
        if isinstance(held, Value) and isinstance(g, Value | Mixed):
            return self.as_float(g)
        if isinstance(held, Array) and isinstance(g, Array) and g.shape == held.shape:
            return Array(g.shape, tuple([self.as_float(v) for v in g.items]), held.type)
        if isinstance(held, Stored) and isinstance(g, Stored) and g.type == held.type:
            return g
        raise NotCompiled("a rule returns a gradient of another shape or dtype")

    def strict_answer(self, g: Any, dy: Any) -> Any:
        """A gradient, set to 0 where it isn't finite and the cotangent is 0: element by element if
        they have the same shape, otherwise as a whole."""
        false, zero = self.builder.constant(False), self.builder.constant(0.0)
        parts = [self.apply(EQ, [part, zero]) for part in leaves(dy)]
        if len(parts) == 1 and _shape(dy) == _shape(g):
            [idle] = parts
        else:
            whole = [self.apply(ALL, [part]) for part in parts]
            idle = reduce(lambda a, b: self.apply(WHERE, [a, b, false]), whole)
        unused = self.apply(WHERE, [self.apply(ISFINITE, [g]), false, idle])
        return self.whole(self.apply(WHERE, [unused, zero, g]))


def _is_wrapped(held: Any, answer: Any) -> bool:
    """Whether a rule has returned the gradient of its single argument in a list, rather than a
    gradient that is a list."""
    if type(answer) is not tuple or len(answer) != 1:
        return False
    [inner] = answer
    if type(held) is tuple:
        return type(inner) is tuple and not (len(held) == 1 and type(held[0]) is tuple)
    return inner is None or isinstance(held, Record) or _shape(inner) == _shape(held)


def _shape(held: Any) -> tuple[int, ...] | None:
    """The shape of an array; () for a number; None for anything else."""
    if isinstance(held, Array | Stored):
        return held.shape
    return () if isinstance(held, Value | Mixed) else None
