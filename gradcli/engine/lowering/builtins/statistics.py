"""Statistics in IR: extremes and their places, functions relative to an extreme such as `softmax`,
and variances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import inf
from typing import Any

from ...ir.instructions import Check, Value
from ...ir.scalars import RESTATED
from ...ir.types import BOOL, is_float
from ..held.kinds import Stored, is_many
from ..held.names import NotCompiled
from ..values.stored import Pending
from .products import Products
from .reductions import Found, Group, Lines, Options, number_of, type_of


class Statistics(Products):
    """The lowering of extremes, sums of exponentials, variances, counts, and places of extremes."""

    def extremes(self, name: str, held: Any, options: Options) -> Any:
        """The extreme elements of an array, or of its lines along an axis."""
        return self.reduced(held, options, partial(self.extreme, name))

    def extreme(self, name: str, items: Group) -> Found:
        """An extreme element. All elements that are equal to it share the derivative equally."""
        items = self.several(items)
        y = self.found_extreme(name, items)
        if not is_float(y.type):
            return y
        m = self.m
        zero, one = self.builder.number(0.0, y.type), self.builder.number(1.0, y.type)
        self.check_finite(y)

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

        moves, ties = [self.total(self.each(items, of, y)) for of in (moved, counted)]
        return self.of_found(shared, [y, moves, ties])

    def found_extreme(self, name: str, items: Group) -> Found:
        """The value of an extreme element, as one that depends on nothing."""
        if isinstance(items, Lines):
            if items.type == BOOL:
                raise NotCompiled("an extreme of bools is not compiled")
            found = self.combined(name, items)
        else:
            self.count(len(items))
            found = reduce(lambda a, b: self.builder.apply(name, [a, b]), items)
        if not is_float(found.type):
            return found
        fixed = self.of_found(lambda y: self.builder.apply("fixed", [y]), [found])
        return self.ready(fixed) if isinstance(fixed, Pending) else fixed

    def check_finite(self, found: Found) -> None:
        is_finite = self.m.formula(lambda number: self.m.abs(number) < inf)
        self.check_all(self.of_found(is_finite, [found]))

    # ---- sums of exponentials --------------------------------------------------------------------

    def shifted(self, items: Group) -> tuple[Group, Found]:
        """Elements minus the largest one, and the largest one."""
        items = self.several(self.as_floats(items))
        top = self.found_extreme("maximum", items)
        self.check_finite(top)
        return self.minus(items, top), top

    def minus(self, items: Group, found: Found) -> Group:
        """Elements minus the number of their group."""
        difference = self.m.formula(lambda item, number: item - number)
        return self.each(items, difference, found)

    def exponentials(self, items: Group) -> Group:
        return self.each(items, lambda item: self.builder.apply("exp", [item]))

    def logsumexp(self, operands: Sequence[Any], options: Options) -> Any:
        def logarithm(total: Value, top: Value) -> Value:
            return self.added([self.builder.apply("log", [total]), top])

        def of(items: Group) -> Found:
            less, top = self.shifted(items)
            total = self.total(self.exponentials(less))
            return self.of_found(logarithm, [total, top])

        return self.reduced(operands[0], options, of)

    def softmax(self, operands: Sequence[Any], options: Options) -> Any:
        """Exponentials, divided by their sum, and then divided once more by the sum of these, which
        is 1. Each division removes a mean from the derivatives, as the rule of the table does;
        where one of the elements is almost 1, the first removal alone would cancel."""
        divided = self.m.formula(lambda weight, total: weight / total)

        def again(weight: Value, total: Value) -> Value:
            return self.builder.operation(RESTATED, [divided(weight, total), weight])

        items, shape = self.line(operands[0], options)
        weights = self.exponentials(self.shifted(items)[0])
        for change in (divided, again):
            weights = self.several(weights)
            weights = self.each(weights, change, self.total(weights))
        return self.as_line(weights, shape)

    def log_softmax(self, operands: Sequence[Any], options: Options) -> Any:
        items, shape = self.line(operands[0], options)
        less, _ = self.shifted(items)
        total = self.total(self.exponentials(less))
        log = self.of_found(lambda t: self.builder.apply("log", [t]), [total])
        return self.as_line(self.minus(less, log), shape)

    def line(self, held: Any, options: Options) -> tuple[Group, tuple[int, ...]]:
        """The elements of an array along an axis, of which a small array has only one."""
        self.only(options, ["axis"])
        if isinstance(held, Pending) and not is_many(held.shape):
            held = self.whole(held)
        if not isinstance(held, Stored | Pending):
            array = self.some_elements(held)
            if len(array.shape) == 1:
                self.axis(options.get("axis") or self.builder.constant(0), array.shape)
                return list(array.items), array.shape
            held = self.packed(array)
        axis = options.get("axis") or self.builder.constant(-1)
        return self.lines(self.elements(held), axis), held.shape

    def as_line(self, items: Group, shape: tuple[int, ...]) -> Any:
        """Elements as an array of a shape."""
        if isinstance(items, Lines):
            return items.elements
        self.count(number_of(items))
        return self.tied(self.array(shape, items))

    # ---- variances, counts and places ------------------------------------------------------------

    def var(self, operands: Sequence[Any], options: Options) -> Any:
        return self.reduced(
            operands[0], _others(options), lambda items: self.variance(items, options)
        )

    def std(self, operands: Sequence[Any], options: Options) -> Any:
        """Roots of variances. Steps back at a variance of 0, where the derivative is 0 by
        convention."""

        def of(items: Group) -> Found:
            found = self.m.number(self.variance(items, options))
            self.check_all((found > 0.0).v)
            return self.m.sqrt(found).v

        return self.reduced(operands[0], _others(options), of)

    def variance(self, items: Group, options: Options) -> Found:
        """The sum of squared distances from the mean, divided by their number. As in the
        interpreter, the first element is subtracted from each at first."""
        builder = self.builder
        ddof = self.known_int(options["ddof"]) if "ddof" in options else 0
        if isinstance(items, Lines) and items.filled is not None:
            raise NotCompiled("a variance of a list of unknown length is not compiled")
        n = number_of(items)
        if isinstance(items, Lines) and items.axis is not None:
            raise NotCompiled("a variance along an axis of many elements is not compiled")
        if n - ddof <= 0:
            raise NotCompiled("a variance of so few elements is not compiled")
        count = builder.constant(float(n))
        items = self.several(self.as_floats(items))
        first = builder.apply("fixed", [self.first(items)])
        items = self.several(self.minus(items, first))
        mean = builder.apply("div", [self.total(items), count])
        items = self.several(self.minus(items, mean))
        total = self.total(self.squares(items))
        return builder.apply("div", [total, builder.constant(float(n - ddof))])

    def first(self, items: Group) -> Value:
        """The first element of all."""
        if not isinstance(items, Lines):
            return items[0]
        return items.elements.at([self.builder.constant(0)] * len(items.elements.shape))

    def count_nonzero(self, operands: Sequence[Any], options: Options) -> Any:
        def of(items: Group) -> Found:
            zero = self.builder.constant(0)
            if type_of(items) != BOOL:
                is_other = self.m.formula(lambda item: item != zero)
                items = self.each(items, is_other)
            return self.total(self.numbers(items))

        return self.reduced(operands[0], options, of)

    def position(self, comparison: str, held: Any, options: Options) -> Any:
        """The place of the first extreme element. `comparison` is the op that finds a better one.
        Steps back at a nan."""
        builder = self.builder

        def of(items: Group) -> Found:
            if isinstance(items, Lines) or items[0].type == BOOL:
                raise NotCompiled("a position among many elements is not compiled")
            self.count(3 * len(items))
            best, place = items[0], builder.constant(0)
            for k, item in enumerate(items):
                if is_float(item.type):
                    builder.add(Check(builder.apply("eq", [item, item])))
                if k:
                    is_better = builder.apply(comparison, [item, best])
                    best = builder.apply("where", [is_better, item, best])
                    place = builder.apply("where", [is_better, builder.constant(k), place])
            return place

        return self.reduced(held, options, of)


def _others(options: Options) -> Options:
    return {name: value for name, value in options.items() if name != "ddof"}
