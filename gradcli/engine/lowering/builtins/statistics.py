"""Statistics in IR: extremes and their places, functions relative to an extreme such as `softmax`,
and variances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import inf
from typing import Any

from ....diagnostics import Span
from ...ir.instructions import Check, Value
from ...ir.numbers import Numbers
from ...ir.scalars import RESTATED
from ...ir.types import BOOL, is_float
from ..held.kinds import Stored, is_many
from ..held.names import NotCompiled
from ..values.stored import Pending
from .products import Products
from .reductions import Found, Group, Lines, Options, number_of, type_of


class Statistics(Products):
    """The lowering of extremes, sums of exponentials, variances, counts, and places of extremes."""

    def extremes(self, name: str, held: Any, options: Options, span: Span) -> Any:
        """The extreme elements of an array, or of its lines along an axis."""
        return self.reduced(held, options, span, partial(self.extreme, name, span))

    def extreme(self, name: str, span: Span, items: Group) -> Found:
        """An extreme element. All elements that are equal to it share the derivative equally."""
        items = self.several(items, span)
        y = self.found_extreme(name, items, span)
        if not is_float(y.type):
            return y
        m = Numbers(self.builder, span)
        zero, one = self.builder.number(0.0, y.type), self.builder.number(1.0, y.type)
        self.check_finite(y, span)

        @m.formula
        def moved(item: Any, y: Any) -> Any:
            move = item - y
            return m.where(item == y, move, zero)

        @m.formula
        def counted(item: Any, y: Any) -> Any:
            return m.where(item == y, one, zero)

        @m.formula
        def shared(y: Any, moves: Any, ties: Any) -> Any:
            """`y + moves / ties`, where `moves` is 0, as a difference that keeps -0.0."""
            mean, down = moves / ties, -y
            return -(down - mean)

        moves, ties = [self.total(self.each(items, of, span, y), span) for of in (moved, counted)]
        return self.of_found(shared, [y, moves, ties], span)

    def found_extreme(self, name: str, items: Group, span: Span) -> Found:
        """The value of an extreme element, as one that depends on nothing."""
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
        m = Numbers(self.builder, span)
        is_finite = m.formula(lambda number: m.abs(number) < inf)
        self.check_all(self.of_found(is_finite, [found], span), span)

    # ---- sums of exponentials --------------------------------------------------------------------

    def shifted(self, items: Group, span: Span) -> tuple[Group, Found]:
        """Elements minus the largest one, and the largest one."""
        items = self.several(self.as_floats(items, span), span)
        top = self.found_extreme("maximum", items, span)
        self.check_finite(top, span)
        return self.minus(items, top, span), top

    def minus(self, items: Group, found: Found, span: Span) -> Group:
        """Elements minus the number of their group."""
        difference = Numbers(self.builder, span).formula(lambda item, number: item - number)
        return self.each(items, difference, span, found)

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
        """Exponentials, divided by their sum, and then divided once more by the sum of these, which
        is 1. Each division removes a mean from the derivatives, as the rule of the table does;
        where one of the elements is almost 1, the first removal alone would cancel."""
        divided = Numbers(self.builder, span).formula(lambda weight, total: weight / total)

        def again(weight: Value, total: Value) -> Value:
            return self.builder.operation(RESTATED, [divided(weight, total), weight])

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
        return self.as_line(self.minus(less, log, span), shape, span)

    def line(self, held: Any, options: Options, span: Span) -> tuple[Group, tuple[int, ...]]:
        """The elements of an array along an axis, of which a small array has only one."""
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
        """Elements as an array of a shape."""
        if isinstance(items, Lines):
            return items.elements
        self.count(span, number_of(items))
        return self.tied(self.array(shape, items, span))

    # ---- variances, counts and places ------------------------------------------------------------

    def var(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Found:
            return self.variance(items, options, span)

        return self.reduced(operands[0], _others(options), span, of)

    def std(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """Roots of variances. Steps back at a variance of 0, where the derivative is 0 by
        convention."""
        m = Numbers(self.builder, span)

        def of(items: Group) -> Found:
            found = m.number(self.variance(items, options, span))
            self.check_all((found > 0.0).v, span)
            return m.sqrt(found).v

        return self.reduced(operands[0], _others(options), span, of)

    def variance(self, items: Group, options: Options, span: Span) -> Found:
        """The sum of squared distances from the mean, divided by their number. As in the
        interpreter, the first element is subtracted from each at first."""
        builder = self.builder
        ddof = self.known_int(options["ddof"], span) if "ddof" in options else 0
        if isinstance(items, Lines) and items.filled is not None:
            raise NotCompiled("a variance of a list of unknown length is not compiled", span)
        n = number_of(items)
        if isinstance(items, Lines) and items.axis is not None:
            raise NotCompiled("a variance along an axis of many elements is not compiled", span)
        if n - ddof <= 0:
            raise NotCompiled("a variance of so few elements is not compiled", span)
        count = builder.constant(float(n))
        items = self.several(self.as_floats(items, span), span)
        first = builder.apply("fixed", [self.first(items)], span)
        items = self.several(self.minus(items, first, span), span)
        mean = builder.apply("div", [self.total(items, span), count], span)
        items = self.several(self.minus(items, mean, span), span)
        total = self.total(self.squares(items, span), span)
        return builder.apply("div", [total, builder.constant(float(n - ddof))], span)

    def first(self, items: Group) -> Value:
        """The first element of all."""
        if not isinstance(items, Lines):
            return items[0]
        return items.elements.at([self.builder.constant(0)] * len(items.elements.shape))

    def count_nonzero(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Found:
            zero = self.builder.constant(0)
            if type_of(items) != BOOL:
                is_other = Numbers(self.builder, span).formula(lambda item: item != zero)
                items = self.each(items, is_other, span)
            return self.total(self.numbers(items, span), span)

        return self.reduced(operands[0], options, span, of)

    def position(self, comparison: str, held: Any, options: Options, span: Span) -> Any:
        """The place of the first extreme element. `comparison` is the op that finds a better one.
        Steps back at a nan."""
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

        return self.reduced(held, options, span, of)


def _others(options: Options) -> Options:
    return {name: value for name, value in options.items() if name != "ddof"}
