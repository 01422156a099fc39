"""Jacobians and Hessians of functions inside a region: a loop over the columns, or over the rows
where these are fewer, of which each is one derivative along a unit vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeGuard

from ...diagnostics import Span
from ..ir.instructions import Block, For, Region, Value
from ..ir.types import I64, ArrayType, Scalar, element_of, is_float
from ..passes.jvp import jvp
from ..passes.rules import NoRule
from ..passes.vjp import vjp
from .kinds import (
    Array,
    ArrayOf,
    Kind,
    ListOf,
    Stored,
    StoredOf,
    flat,
    kind_of,
    plain,
    rebuilt,
    types_of,
)
from .names import NotCompiled, Transform
from .transforms import Transforms

MOST = 64  # columns, or rows: the interpreter finds out whether it can compute several at once


class Matrices(Transforms):
    """The lowering of `jacobian(f)`, `hessian(f)` and `hvp(f)`."""

    def called(self, callee: Any, given: list[Any], named: dict[str, Any], span: Span) -> Any:
        """A call of one of these, or of another function."""
        kind = callee.kind if isinstance(callee, Transform) else ""
        if kind not in ("jacobian", "hessian", "hvp"):
            return super().called(callee, given, named, span)
        function, wrt, listed = callee.function, callee.wrt, callee.listed
        if kind != "jacobian":
            function = Transform("grad", function, wrt, listed)
        if kind == "hvp":
            return super().called(Transform("hvp", function, wrt, listed), given, named, span)
        if listed or wrt[0] >= len(given):
            raise NotCompiled(f"this call of `{kind}` is not compiled", span)
        along = Transform("jvp", function, wrt, listed)
        given = list(given)
        given[wrt[0]] = self.values(given[wrt[0]])
        return self.jacobian_of(along, given, named, span)

    def jacobian_of(
        self, callee: Transform, given: list[Any], named: dict[str, Any], span: Span
    ) -> Any:
        """The Jacobian of a function by one of its arguments."""
        states = self.state_values()
        block, kind = self.body(callee, given, named, span)
        if self.state_values() != states:
            raise NotCompiled("a function that updates variables is not differentiated here", span)
        if isinstance(kind, ListOf) and len(set(kind.items)) == 1 and _is_float(kind.items[0]):
            whole = ArrayOf((len(kind.items),), kind.items[0])
            return tuple(self.rows(self.of_block(callee, block, given, whole, span), span))
        return self.of_block(callee, block, given, kind, span)

    def of_block(
        self, callee: Transform, block: Block, given: list[Any], kind: Kind, span: Span
    ) -> Any:
        """The Jacobian of a block of the function, which gives what is of a kind. Rules of the
        program are asked, which forward mode doesn't do."""
        [k] = callee.wrt
        source = plain(kind_of(given[k]))
        region = Region("function", block)
        rows, columns = _shape(kind, span), _shape(source, span)
        arguments, m, n = list(flat(given[k])), prod(rows), prod(columns)
        has_rules = self.regions.has_rules(region)
        if (m if has_rules else min(m, n)) > MOST:
            raise NotCompiled("a Jacobian of many rows and columns is not compiled", span)
        try:
            if not columns and not has_rules:
                one = self.unit(source, self.builder.constant(0))
                return self.along(callee, jvp(region, (0,), self.regions), given, one, kind, span)
            places = range(len(arguments))
            forward = n <= m and not has_rules
            derived = (jvp if forward else vjp)(region, places, self.regions)
        except NoRule as reason:
            raise NotCompiled(str(reason), span) from None

        def column(at: Value) -> Any:
            unit = self.unit(source, at)
            return self.along(callee, derived, given, unit, kind, span)

        def row(at: Value) -> Any:
            seeds = flat(self.unit(kind, at))
            found = self.inline(derived, [*arguments, *seeds])[len(list(types_of(kind))) :]
            pairs = zip(found[::2], found[1::2], strict=True)
            return self.gradient(given[k], pairs, span)

        if not rows:
            return row(self.builder.constant(0))
        element = _element(kind if forward else source)
        whole = ArrayType(element, (*rows, *columns))
        matrix = self.filled_by(whole, column if forward else row, forward, n, span)
        return self.few_apart(Stored(matrix), span)

    def filled_by(
        self,
        kind: ArrayType,
        line: Callable[[Value], Any],
        by_column: bool,
        n: int,
        span: Span,
    ) -> Value:
        """A matrix, in an array of some kind, with `n` columns, line by line."""
        builder = self.builder
        m = kind.size // n

        def put(array: Value, at: Value) -> Value:
            part, length = line(at), (m if by_column else n)

            def place(k: Value) -> Value:
                row, column = (k, at) if by_column else (at, k)
                return builder.place([row, column], [n, 1])

            if not isinstance(part, Stored):
                for k, number in enumerate(flat(part)):
                    array = builder.put(array, place(builder.constant(k)), number)
                return array
            return self.over(
                (length,),
                [("put", array)],
                lambda k: [builder.element(part.value, k[0]), place(k[0])],
                span,
            )[0]

        before, after, at = Value(kind), Value(kind), Value(I64)
        with builder.inside(Block((at, before))) as body:
            body.results = (put(before, at),)
        count = builder.constant(n if by_column else m)
        builder.add(For(count, (builder.zero(kind),), body, (after,)))
        return after

    def unit(self, kind: Kind, at: Value) -> Any:
        """An array of a kind, or a number, that is 1 at a place, and 0 elsewhere."""
        builder = self.builder
        zero, one = [builder.number(number, _element(kind)) for number in (0.0, 1.0)]
        if isinstance(kind, Scalar):
            return one
        if isinstance(kind, StoredOf):
            return Stored(builder.put(builder.zero(kind.type), at, one))
        assert isinstance(kind, ArrayOf)
        is_here = [builder.apply("eq", [at, builder.constant(k)]) for k in range(prod(kind.shape))]
        items = [builder.apply("where", [here, one, zero]) for here in is_here]
        found: Array = rebuilt(kind, iter(items))
        return found


def _element(kind: Kind) -> Scalar:
    """The type of the numbers of a kind."""
    return element_of(next(types_of(kind)))


def _is_float(kind: Kind) -> TypeGuard[Scalar]:
    return isinstance(kind, Scalar) and is_float(kind)


def _shape(kind: Kind, span: Span) -> Sequence[int]:
    if isinstance(kind, StoredOf):
        return kind.type.shape
    if isinstance(kind, ArrayOf):
        return kind.shape
    if not _is_float(kind):
        raise NotCompiled("the Jacobian of what is no array is not compiled", span)
    return ()
