"""Derivatives of functions inside a region: `grad(f)` is a value, and a call of it is the
derivative of the function's own region, inlined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ...diagnostics import Span
from ...ops.op import Op
from ..ir.instructions import Block, Constant, Region, Value
from ..ir.types import F64
from ..ir.verifier import CHOOSE
from ..passes.copying import copied
from ..passes.dead_code import without_dead_code
from ..passes.folding import fold
from ..passes.jvp import jvp
from ..passes.rules import NoRule
from ..passes.vjp import vjp
from .kinds import Array, flat, fresh, kind_of, rebuilt, scalars_of
from .names import Closure, NotCompiled, Transform
from .recursion import Recursion
from .reductions import Options

REVERSE = ("grad", "value_and_grad", "vjp")
FORWARD = ("jvp", "value_and_jvp")


class Transforms(Recursion):
    """The lowering of derivatives of functions."""

    def apply(
        self, op: Op, operands: Sequence[Any], span: Span, options: Options | None = None
    ) -> Any:
        if not op.transforms:
            return super().apply(op, operands, span, options)
        [function], chosen = operands, dict(options or {})
        wrt = chosen.pop("wrt", None)
        if chosen or op.name not in REVERSE + FORWARD:
            raise NotCompiled(f"this `{op.name}` is not compiled", span)
        if not isinstance(function, Closure | Transform | Op):
            raise NotCompiled("what is differentiated here isn't known", span)
        listed = type(wrt) is tuple
        items = wrt if listed else () if wrt is None else (wrt,)
        places = tuple([self.known_int(item, span) for item in items]) if items else (0,)
        return Transform(op.name, function, places, listed)

    def called(self, callee: Any, given: list[Any], named: dict[str, Any], span: Span) -> Any:
        if not isinstance(callee, Transform):
            return super().called(callee, given, named, span)
        weighs = callee.kind in ("vjp", "jvp", "value_and_jvp")
        if named or (weighs and (callee.wrt != (0,) or callee.listed)):
            raise NotCompiled(f"this call of `{callee.kind}` is not compiled", span)
        vector = given.pop(1) if weighs and len(given) > 1 else None
        if not set(callee.wrt) <= set(range(len(given))) or len(set(callee.wrt)) < len(callee.wrt):
            raise NotCompiled("a derivative by arguments that there aren't is not compiled", span)
        block = self.body(callee, given, span)
        moving = [v for k in callee.wrt for v in flat(given[k])]
        positions, region = range(len(moving)), Region("function", block)
        try:
            if callee.kind in FORWARD:
                return self.along(callee, jvp(region, positions), moving, vector, span)
            return self.back(callee, vjp(region, positions), given, vector, span)
        except NoRule as reason:
            raise NotCompiled(str(reason), span) from None

    def body(self, callee: Transform, given: Sequence[Any], span: Span) -> Block:
        """The function as a block, of parameters for the arguments that it is differentiated by. It
        uses the others as they are."""
        arguments = list(given)
        parameters: list[Value] = []
        for k in callee.wrt:
            kinds = list(scalars_of(kind_of(given[k])))
            if not kinds or set(kinds) != {F64} or not isinstance(given[k], Value | Array | tuple):
                raise NotCompiled("a derivative by what is no float is not compiled", span)
            arguments[k] = fresh(kind_of(given[k]))
            parameters += flat(arguments[k])
        with self.builder.inside(Block(tuple(parameters))) as block:
            result = self.called(callee.function, arguments, {}, span)
        if not isinstance(result, Value) or result.type != F64:
            raise NotCompiled("the derivative of what is no float is not compiled", span)
        block.results = (result,)
        return block

    def inline(self, region: Region, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """Adds the instructions of a region, for these arguments; gives its results."""
        block = without_dead_code(fold(region)).block
        names = dict(zip(block.parameters, arguments, strict=True))
        made = copied(Block((), block.instructions, block.results), names)
        for each in made.instructions:
            self.builder.add(each)
            if isinstance(each, Constant):
                self.builder.known[each.result] = each.value
        return made.results

    def along(
        self, callee: Transform, region: Region, moving: list[Value], vector: Any, span: Span
    ) -> Any:
        """A tangent, with the value if that is asked for."""
        if vector is None or [v.type for v in flat(vector)] != [F64] * len(moving):
            raise NotCompiled(f"this call of `{callee.kind}` is not compiled", span)
        value, tangent, connected = self.inline(region, [*moving, *flat(vector)])
        tangent = self.or_zero(tangent, connected)
        return (value, tangent) if callee.kind == "value_and_jvp" else tangent

    def back(
        self, callee: Transform, region: Region, given: list[Any], vector: Any, span: Span
    ) -> Any:
        """Gradients, with the value if that is asked for."""
        seed = self.builder.constant(1.0) if vector is None else vector
        if (vector is None) == (callee.kind == "vjp") or kind_of(seed) != F64:
            raise NotCompiled(f"this call of `{callee.kind}` is not compiled", span)
        arguments = [v for k in callee.wrt for v in flat(given[k])]
        value, *found = self.inline(region, [*arguments, seed])
        pairs = zip(found[::2], found[1::2], strict=True)
        gradients = [self.gradient(given[k], pairs) for k in callee.wrt]
        answer = tuple(gradients) if callee.listed else gradients[0]
        return (value, answer) if callee.kind == "value_and_grad" else answer

    def gradient(self, held: Any, pairs: Iterator[tuple[Value, Value]]) -> Any:
        """The gradient by an argument, of the next cotangents."""
        found = [self.or_zero(*pair) for pair in islice(pairs, len(list(flat(held))))]
        return rebuilt(kind_of(held), iter(found))

    def or_zero(self, derivative: Value, connected: Value) -> Value:
        """A derivative of a function is 0 where nothing connects it: on these paths it isn't
        connected with anything itself."""
        return self.builder.operation(CHOOSE, [connected, derivative, self.builder.constant(0.0)])
