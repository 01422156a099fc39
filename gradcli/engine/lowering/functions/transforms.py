"""Derivatives of functions inside a region: `grad(f)` is a value, and a call of it is the
derivative of the function's own region, inlined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ....ops.derivative import VECTORS
from ....ops.op import Op
from ...ir.instructions import Block, Region, Value
from ...ir.scalars import CHOOSE
from ...ir.types import ArrayType, Scalar, element_of, has_tangents
from ...passes.copying import copied
from ...passes.dead_code import without_dead_code
from ...passes.derivatives.jvp import jvp
from ...passes.derivatives.vjp import vjp
from ...passes.folding import fold
from ...passes.rules import NoRule
from ..builtins.reductions import Options
from ..held.kinds import (
    Array,
    Kind,
    ListOrArray,
    Record,
    Stored,
    flat,
    fresh,
    is_value,
    kind_of,
    plain,
    rebuilt,
)
from ..held.names import Closure, NotCompiled, Rows, Transform
from .own_rules import OwnRules

REVERSE = ("grad", "value_and_grad", "vjp")
FORWARD = ("jvp", "value_and_jvp")
SECOND = ("jacobian", "hessian", "hvp")
MODES = ("auto", "forward", "reverse")


class Transforms(OwnRules):
    """The lowering of derivatives of functions."""

    def apply(self, op: Op, operands: Sequence[Any], options: Options | None = None) -> Any:
        if not op.transforms:
            return super().apply(op, operands, options)
        [function], chosen = operands, dict(options or {})
        wrt = chosen.pop("wrt", None)
        if op.name in SECOND and chosen.get("mode") in MODES:
            del chosen["mode"]  # it affects nothing but rounding
        if chosen or op.name not in REVERSE + FORWARD + SECOND:
            raise NotCompiled(f"this `{op.name}` is not compiled")
        if not isinstance(function, Closure | Transform | Rows | Op):
            raise NotCompiled("the function that is differentiated here isn't known")
        listed = type(wrt) is tuple
        items = wrt if listed else () if wrt is None else (wrt,)
        places = tuple([self.known_int(item) for item in items]) if items else (0,)
        return Transform(op.name, function, places, listed)

    def called(self, callee: Any, given: list[Any], named: dict[str, Any]) -> Any:
        if not isinstance(callee, Transform):
            return super().called(callee, given, named)
        for k in callee.wrt:
            held = self.present(given[k]) if k < len(given) else None
            if isinstance(held, ListOrArray):

                def of(form: Any, k: int = k) -> Any:
                    return self.called(callee, [*given[:k], form, *given[k + 1 :]], named)

                return self.in_forms(held, of)
        given, named = list(given), dict(named)
        vector = self.values(self.vector(callee, given, named))
        if not set(callee.wrt) <= set(range(len(given))) or len(set(callee.wrt)) < len(callee.wrt):
            raise NotCompiled("a derivative by missing arguments is not compiled")
        for k in callee.wrt:
            given[k] = self.in_items(self.values(self.present(given[k])))
        block, kind = self.body(callee, given, named)
        moving = [v for k in callee.wrt for v in flat(given[k])]
        positions, region = range(len(moving)), Region("function", block)
        try:
            if callee.kind == "hvp" and self.regions.has_rules(region):
                raise NotCompiled("`hvp` through a rule is not compiled")
            if callee.kind in (*FORWARD, "hvp"):
                return self.along(callee, jvp(region, positions, self.regions), given, vector, kind)
            back = vjp(region, positions, self.regions)
            return self.back(callee, back, given, vector, kind)
        except NoRule as reason:
            raise NotCompiled(str(reason)) from None

    def vector(self, callee: Transform, given: list[Any], named: dict[str, Any]) -> Any:
        """The tangent or cotangent that a call gets as its second argument or as a keyword; None if
        it takes none. It is removed from the arguments."""
        keyword = VECTORS.get(callee.kind)
        if keyword is None:
            return None
        if keyword in named:
            return named.pop(keyword)
        if callee.wrt != (0,) or callee.listed or len(given) < 2:
            raise NotCompiled(f"this call of `{callee.kind}` is not compiled")
        return given.pop(1)

    def body(
        self, callee: Transform, given: Sequence[Any], named: dict[str, Any]
    ) -> tuple[Block, Kind]:
        """The function as a block, and the kind of its result. The parameters are the arguments
        that it is differentiated by; the block uses the others as they are."""
        arguments = list(given)
        parameters: list[Value] = []
        for k in callee.wrt:
            kinds = list(flat(kind_of(given[k])))
            known = isinstance(given[k], Value | Array | Stored | tuple | Record)
            listed = isinstance(given[k], Stored) and given[k].listed
            if not kinds or not known or listed or not all(map(has_tangents, kinds)):
                raise NotCompiled("a derivative is compiled only by floats")
            arguments[k] = fresh(kind_of(given[k]))
            parameters += flat(arguments[k])
        states, began = self.values_in(self.states), self.names.of([self.draws])
        with self.builder.inside(Block(tuple(parameters))) as block:
            result = self.called(callee.function, arguments, named)
        self.count_draws(began, block, [v for k in callee.wrt for v in flat(given[k])])
        kind = plain(kind_of(result))
        types = list(flat(kind))
        if not is_value(kind) or not types or not all(map(has_tangents, types)):
            raise NotCompiled("a derivative is compiled only for floats")
        block.results = tuple(flat(result))
        if self.values_in(self.states) != states:
            raise NotCompiled("a function that updates variables is not differentiated here")
        return block, kind

    def count_draws(self, began: tuple[Any, ...], block: Block, arguments: Sequence[Value]) -> None:
        """Counts the draws of a block for these arguments. `began` is the number of draws before
        it."""
        ended = self.names.of([self.draws])
        if ended != began:
            counted = Region("draws", Block(block.parameters, block.instructions, ended))
            self.names.put([self.draws], self.inline(counted, arguments))

    def inline(self, region: Region, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """Adds the instructions of a region for these arguments; returns its results."""
        block = without_dead_code(fold(region)).block
        names = dict(zip(block.parameters, arguments, strict=True))
        made = copied(Block((), block.instructions, block.results), names)
        self.builder.extend(made.instructions)
        return made.results

    def along(
        self, callee: Transform, region: Region, given: list[Any], vector: Any, kind: Kind
    ) -> Any:
        """The tangent of a result of a kind, with the value if that is asked for."""
        moving = tuple([given[k] for k in callee.wrt])
        primal = moving if callee.listed else moving[0]
        vector = self.along_with(vector, primal)
        if plain(kind_of(vector)) != plain(kind_of(primal)):
            raise NotCompiled(f"this call of `{callee.kind}` is not compiled")
        found = self.inline(region, [*flat(moving), *flat(vector)])
        size = len(list(flat(kind)))
        value, pairs = rebuilt(kind, iter(found[:size])), iter(found[size:])
        tangent = rebuilt(
            kind, iter([self.or_zero(*pair) for pair in zip(pairs, pairs, strict=True)])
        )
        return (value, tangent) if callee.kind == "value_and_jvp" else tangent

    def back(
        self, callee: Transform, region: Region, given: list[Any], vector: Any, kind: Kind
    ) -> Any:
        """Gradients of the sum of what is of a kind, with the value if that is asked for."""
        if (vector is None) == (callee.kind == "vjp"):
            raise NotCompiled(f"this call of `{callee.kind}` is not compiled")
        arguments = [v for k in callee.wrt for v in flat(given[k])]
        seeds = self.seeds(fresh(kind), vector)
        found = iter(self.inline(region, [*arguments, *seeds]))
        value = rebuilt(kind, found)
        pairs = zip(found, found, strict=True)
        gradients = [self.gradient(given[k], pairs) for k in callee.wrt]
        answer = tuple(gradients) if callee.listed else gradients[0]
        return (value, answer) if callee.kind == "value_and_grad" else answer

    def seeds(self, target: Any, seed: Any) -> list[Value]:
        """The cotangents of a target's floats."""
        if seed is None:
            ends = [value.type for value in flat(target) if has_tangents(value.type)]
            ones = [self.builder.number(1.0, element_of(kind)) for kind in ends]
            return [
                self.builder.filled(kind, one) if isinstance(kind, ArrayType) else one
                for kind, one in zip(ends, ones, strict=True)
            ]
        seed = self.along_with(seed, target)
        kinds = plain(kind_of(seed)), plain(kind_of(target))
        if kinds[0] != kinds[1] or not all(map(has_tangents, flat(kinds[0]))):
            raise NotCompiled("a seed of another kind is not compiled")
        return list(flat(seed))

    def along_with(self, vector: Any, held: Any) -> Any:
        """A tangent or cotangent with arrays, lists and floats where what it is of has these."""
        if isinstance(held, Array | Stored) and isinstance(vector, Array | tuple):
            kind, array = element_of(held.type), self.as_array(vector)
            return self.whole(self.of_type(array, kind))
        if isinstance(held, Value) and isinstance(vector, Value) and isinstance(held.type, Scalar):
            return self.of_type(vector, held.type)
        if isinstance(held, Record) and isinstance(vector, Record) and held.keys == vector.keys:
            return Record(held.keys, self.along_with(vector.items, held.items))
        if type(held) is tuple and isinstance(vector, Array | tuple):
            items = self.rows(vector)
            if len(items) == len(held):
                pairs = zip(items, held, strict=True)
                return tuple([self.along_with(item, own) for item, own in pairs])
        return vector

    def gradient(self, held: Any, pairs: Iterator[tuple[Value, Value]]) -> Any:
        """The gradient by an argument, from the next cotangents."""
        found = [self.or_zero(*pair) for pair in islice(pairs, len(list(flat(held))))]
        return rebuilt(plain(kind_of(held)), iter(found))

    def or_zero(self, derivative: Value, connected: Value) -> Value:
        """A derivative of a function, which is 0 where nothing connects it. There it isn't
        connected with anything itself."""
        if isinstance(connected.type, ArrayType):
            return self.list_or_zero(derivative, connected)
        if isinstance(kind := derivative.type, ArrayType):
            found: Value = self.either(
                connected, lambda: Stored(derivative), lambda: Stored(self.builder.zero(kind))
            ).value
            return found
        return self.builder.operation(CHOOSE, [connected, derivative, self.builder.constant(0.0)])

    def list_or_zero(self, derivative: Value, connected: Value) -> Value:
        """The same for a list, whose numbers are connected by themselves."""
        builder, kind = self.builder, derivative.array_type

        def at(indices: Sequence[Value]) -> Value:
            place = builder.place(indices, kind.strides)
            own = [builder.element(array, place) for array in (derivative, connected)]
            return self.or_zero(own[0], own[1])

        return builder.array(kind, at)
