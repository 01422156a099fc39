"""Extremes in IR, and what is computed with respect to one: softmax and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import inf
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import Value
from ..ir.types import BOOL, is_float
from ..ir.verifier import RESTATED
from .arrays import is_many
from .kinds import Stored
from .lines import Found, Group, Lines
from .names import NotCompiled
from .products import Products
from .reductions import Options, number_of
from .stored import Pending


class Extremes(Products):
    """The lowering of the smallest and the largest element, and of sums of exponentials."""

    def maximum(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.reduced(operands[0], options, span, partial(self.extreme, "maximum", span))

    def minimum(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.reduced(operands[0], options, span, partial(self.extreme, "minimum", span))

    def extreme(self, name: str, span: Span, items: Group) -> Found:
        """An extreme element: those that are equal to it share the derivative equally."""
        items = self.several(items, span)
        y = self.found_extreme(name, items, span)
        if not is_float(y.type):
            return y
        builder = self.builder
        zero, one = builder.number(0.0, y.type), builder.number(1.0, y.type)
        self.check_finite(y, span)

        def moved(item: Value, y: Value) -> Value:
            move = builder.apply("sub", [item, y], span)
            return builder.apply("where", [builder.apply("eq", [item, y], span), move, zero], span)

        def counted(item: Value, y: Value) -> Value:
            return builder.apply("where", [builder.apply("eq", [item, y], span), one, zero], span)

        def shared(y: Value, moves: Value, ties: Value) -> Value:
            """The sum of it and their mean move, which is 0: as a difference, which keeps -0.0."""
            mean, down = builder.apply("div", [moves, ties], span), builder.apply("neg", [y], span)
            return builder.apply("neg", [builder.apply("sub", [down, mean], span)], span)

        moves, ties = [self.total(self.each(items, of, span, y), span) for of in (moved, counted)]
        return self.of_found(shared, [y, moves, ties], span)

    def found_extreme(self, name: str, items: Group, span: Span) -> Found:
        """The value of an extreme element, on which nothing depends."""
        if isinstance(items, Lines):
            if items.type == BOOL:
                raise NotCompiled("an extreme of bools is not compiled", span)
            found = self.combined(name, items, span)
        else:
            self.count(span, len(items))
            found = reduce(lambda a, b: self.builder.apply(name, [a, b], span), items)
        if not is_float(found.type):
            return found
        fixed = self.of_found(lambda y: self.builder.apply("fixed", [y], span), [found], span)
        return self.ready(fixed, span) if isinstance(fixed, Pending) else fixed

    def check_finite(self, found: Found, span: Span) -> None:
        builder = self.builder

        def is_finite(number: Value) -> Value:
            size = builder.apply("abs", [number], span)
            return builder.apply("lt", [size, builder.constant(inf)], span)

        self.check_all(self.of_found(is_finite, [found], span), span)

    # ---- sums of exponentials --------------------------------------------------------------------

    def shifted(self, items: Group, span: Span) -> tuple[Group, Found]:
        """Elements less the largest of them, and that one."""
        items = self.several(self.as_floats(items, span), span)
        top = self.found_extreme("maximum", items, span)
        self.check_finite(top, span)
        less = self.each(items, lambda a, b: self.builder.apply("sub", [a, b], span), span, top)
        return less, top

    def exponentials(self, items: Group, span: Span) -> Group:
        return self.each(items, lambda item: self.builder.apply("exp", [item], span), span)

    def logsumexp(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def logarithm(total: Value, top: Value) -> Value:
            return self.added([self.builder.apply("log", [total], span), top], span)

        def of(items: Group) -> Found:
            less, top = self.shifted(items, span)
            total = self.total(self.exponentials(less, span), span)
            return self.of_found(logarithm, [total, top], span)

        return self.reduced(operands[0], options, span, of)

    def softmax(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """Exponentials, divided by their sum. They have the derivatives of being divided once more
        by theirs, which is 1: each of the two takes off a mean, as does the rule of the table, and
        where one of them is almost 1 the first alone cancels."""
        builder = self.builder

        def divided(weight: Value, total: Value) -> Value:
            return builder.apply("div", [weight, total], span)

        def again(weight: Value, total: Value) -> Value:
            return builder.operation(RESTATED, [divided(weight, total), weight])

        items, shape = self.line(operands[0], options, span)
        weights = self.exponentials(self.shifted(items, span)[0], span)
        for change in (divided, again):
            weights = self.several(weights, span)
            weights = self.each(weights, change, span, self.total(weights, span))
        return self.as_line(weights, shape, span)

    def log_softmax(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        items, shape = self.line(operands[0], options, span)
        less, _ = self.shifted(items, span)
        total = self.total(self.exponentials(less, span), span)
        log = self.of_found(lambda t: self.builder.apply("log", [t], span), [total], span)
        return self.as_line(
            self.each(less, lambda a, b: self.builder.apply("sub", [a, b], span), span, log),
            shape,
            span,
        )

    def line(self, held: Any, options: Options, span: Span) -> tuple[Group, tuple[int, ...]]:
        """The elements of an array along an axis: of one of few, the only one."""
        self.only(options, ["axis"], span)
        if isinstance(held, Pending) and not is_many(held.shape):
            held = self.whole(held, span)
        if not isinstance(held, Stored | Pending):
            array = self.some_elements(held, span)
            if len(array.shape) == 1:
                self.axis(options.get("axis") or self.builder.constant(0), array.shape, span)
                return list(array.items), array.shape
            held = self.packed(array)
        axis = options.get("axis") or self.builder.constant(-1)
        return self.lines(self.elements(held), axis, span), held.shape

    def as_line(self, items: Group, shape: tuple[int, ...], span: Span) -> Any:
        """Elements as an array."""
        if isinstance(items, Lines):
            return items.elements
        self.count(span, number_of(items))
        return self.tied(self.array(shape, items, span))
