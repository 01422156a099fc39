"""Variances, and where the extreme elements are, in IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import Check, Value
from ..ir.types import BOOL, is_float
from .extremes import Extremes
from .lines import Found, Group, Lines
from .names import NotCompiled
from .reductions import Options, number_of


class Statistics(Extremes):
    """The lowering of `var`, `std`, `count_nonzero`, `argmax` and `argmin`."""

    def var(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Found:
            return self.variance(items, options, span)

        return self.reduced(operands[0], _others(options), span, of)

    def std(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """Roots of variances. Steps back where one is 0: there the derivative is 0 by
        convention."""

        def of(items: Group) -> Found:
            found, zero = self.variance(items, options, span), self.builder.constant(0.0)
            self.check_all(
                self.of_found(lambda v: self.builder.apply("gt", [v, zero], span), [found], span),
                span,
            )
            return self.of_found(lambda v: self.builder.apply("sqrt", [v], span), [found], span)

        return self.reduced(operands[0], _others(options), span, of)

    def variance(self, items: Group, options: Options, span: Span) -> Found:
        """The sum of squared distances from the mean, each less the first element, as the
        interpreter has it, over how many there are."""
        builder = self.builder
        ddof = self.known_int(options["ddof"], span) if "ddof" in options else 0
        n = number_of(items)
        if isinstance(items, Lines) and items.axis is not None:
            raise NotCompiled("a variance along an axis of many elements is not compiled", span)
        if n - ddof <= 0:
            raise NotCompiled("a variance of so few elements is not compiled", span)
        count = builder.constant(float(n))

        def apart(a: Value, b: Value) -> Value:
            return builder.apply("sub", [a, b], span)

        def square(item: Value) -> Value:
            return builder.apply("mul", [item, item], span)

        items = self.several(self.as_floats(items, span), span)
        first = builder.apply("fixed", [self.first(items)], span)
        items = self.several(self.each(items, apart, span, first), span)
        mean = builder.apply("div", [self.total(items, span), count], span)
        items = self.several(self.each(items, apart, span, mean), span)
        total = self.total(self.each(items, square, span), span)
        return builder.apply("div", [total, builder.constant(float(n - ddof))], span)

    def first(self, items: Group) -> Value:
        """The first element of all."""
        if not isinstance(items, Lines):
            return items[0]
        return items.elements.at([self.builder.constant(0)] * len(items.elements.shape))

    def count_nonzero(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Found:
            zero = self.builder.constant(0)
            if isinstance(items, Lines) and items.type != BOOL:
                items = self.each(
                    items, lambda item: self.builder.apply("ne", [item, zero], span), span
                )
            elif not isinstance(items, Lines) and items[0].type != BOOL:
                items = [self.builder.apply("ne", [item, zero], span) for item in items]
            return self.total(self.numbers(items, span), span)

        return self.reduced(operands[0], options, span, of)

    def argmax(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.position("gt", operands, options, span)

    def argmin(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.position("lt", operands, options, span)

    def position(
        self, comparison: str, operands: Sequence[Any], options: Options, span: Span
    ) -> Any:
        """The place of the first element that no other one is greater, or less, than. Steps back at
        a nan."""
        builder = self.builder

        def of(items: Group) -> Found:
            if isinstance(items, Lines) or items[0].type == BOOL:
                raise NotCompiled("a position among many elements is not compiled", span)
            self.count(span, 3 * len(items))
            best, place = items[0], builder.constant(0)
            for k, item in enumerate(items):
                if is_float(item.type):
                    builder.add(Check(builder.apply("eq", [item, item], span)))
                if k:
                    is_better = builder.apply(comparison, [item, best], span)
                    best = builder.apply("where", [is_better, item, best], span)
                    place = builder.apply("where", [is_better, builder.constant(k), place], span)
            return place

        return self.reduced(operands[0], options, span, of)


def _others(options: Options) -> Options:
    return {name: value for name, value in options.items() if name != "ddof"}
