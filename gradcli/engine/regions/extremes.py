"""Extremes in IR, and what is computed with respect to one: softmax and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import inf
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import Check, Value
from ..ir.types import F64
from .kinds import Stored
from .names import NotCompiled
from .products import Products
from .reductions import Group, Options, number_of
from .stored import Pending


class Extremes(Products):
    """The lowering of the smallest and the largest element, and of sums of exponentials."""

    def maximum(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.reduced(operands[0], options, span, partial(self.extreme, "maximum", span))

    def minimum(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.reduced(operands[0], options, span, partial(self.extreme, "minimum", span))

    def extreme(self, name: str, span: Span, items: Group) -> Value:
        """An extreme element: those that are equal to it share the derivative equally."""
        y = self.found_extreme(name, items, span)
        if y.type != F64:
            return y
        builder, zero, one = self.builder, self.builder.constant(0.0), self.builder.constant(1.0)
        self.check_finite(y, span)

        def moved(item: Value) -> Value:
            move = builder.apply("sub", [item, y], span)
            return builder.apply("where", [builder.apply("eq", [item, y], span), move, zero], span)

        def counted(item: Value) -> Value:
            return builder.apply("where", [builder.apply("eq", [item, y], span), one, zero], span)

        moves, ties = [self.total(self.each(items, F64, of), span) for of in (moved, counted)]
        return self.added([y, builder.apply("div", [moves, ties], span)], span)

    def found_extreme(self, name: str, items: Group, span: Span) -> Value:
        """The value of an extreme element, on which nothing depends."""

        def further(found: Value, item: Value) -> Value:
            return self.builder.apply(name, [found, item], span)

        if isinstance(items, Pending):
            first, rest = items.at(self.builder.constant(0)), items.size - 1
            one = self.builder.constant(1)

            def step(k: Value, found: Value) -> Value:
                return further(found, items.at(self.builder.apply("add", [k, one])))

            found = self.folded(rest, first, step, span)
        else:
            self.count(span, len(items))
            found = reduce(further, items)
        return self.builder.apply("fixed", [found], span) if found.type == F64 else found

    def check_finite(self, number: Value, span: Span) -> None:
        builder = self.builder
        size = builder.apply("abs", [number], span)
        builder.add(Check(builder.apply("lt", [size, builder.constant(inf)], span)))

    # ---- sums of exponentials --------------------------------------------------------------------

    def shifted(self, items: Group, span: Span) -> tuple[Group, Value]:
        """Elements less the largest of them, and that one."""
        items = self.as_all(items, F64)
        top = self.found_extreme("maximum", items, span)
        self.check_finite(top, span)
        less = self.each(items, F64, lambda item: self.builder.apply("sub", [item, top], span))
        return less, top

    def exponentials(self, items: Group, span: Span) -> Group:
        return self.each(items, F64, lambda item: self.builder.apply("exp", [item], span))

    def logsumexp(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Value:
            less, top = self.shifted(items, span)
            total = self.total(self.exponentials(less, span), span)
            return self.added([self.builder.apply("log", [total], span), top], span)

        return self.reduced(operands[0], options, span, of)

    def softmax(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        items, shape = self.line(operands[0], options, span)
        weights = self.exponentials(self.shifted(items, span)[0], span)
        if isinstance(weights, Pending):
            weights = self.elements(Stored(self.made(weights, span)))
        total = self.total(weights, span)
        return self.as_line(
            self.each(weights, F64, lambda w: self.builder.apply("div", [w, total], span)),
            shape,
            span,
        )

    def log_softmax(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        items, shape = self.line(operands[0], options, span)
        less, _ = self.shifted(items, span)
        total = self.total(self.exponentials(less, span), span)
        log = self.builder.apply("log", [total], span)
        return self.as_line(
            self.each(less, F64, lambda item: self.builder.apply("sub", [item, log], span)),
            shape,
            span,
        )

    def line(self, held: Any, options: Options, span: Span) -> tuple[Group, tuple[int, ...]]:
        """The elements of an array of one axis, along which an op works."""
        self.only(options, ["axis"], span)
        array = held if isinstance(held, Stored) else self.some_array(held, span)
        axis = options.get("axis")
        if len(array.shape) > 1 or (axis is not None and self.known_int(axis, span) not in (0, -1)):
            raise NotCompiled("this is compiled for vectors alone", span)
        items = self.elements(array) if isinstance(array, Stored) else list(array.items)
        return items, array.shape

    def as_line(self, items: Group, shape: tuple[int, ...], span: Span) -> Any:
        """Elements as an array."""
        if isinstance(items, Pending):
            return items
        self.count(span, number_of(items))
        return self.tied(self.array(shape, items, span))
