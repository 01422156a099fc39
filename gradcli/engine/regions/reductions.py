"""Reductions of small arrays in IR, with the bits of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import Block, Check, Value
from ..ir.types import BOOL, F64, I64, Scalar
from .arrays import is_many
from .elements import Elements
from .kinds import Array, Stored
from .names import NotCompiled
from .stored import Pending

Options = Mapping[str, Any]
Group = Sequence[Value] | Pending  # elements that are reduced together


def number_of(items: Group) -> int:
    """How many elements there are."""
    return items.size if isinstance(items, Pending) else len(items)


def _types(items: Group) -> set[Any]:
    return {items.type} if isinstance(items, Pending) else {item.type for item in items}


class Reductions(Elements):
    """The lowering of sums, means, norms, and of `any` and `all`."""

    def only(self, options: Options, names: Sequence[str], span: Span) -> None:
        """Refuses options other than these."""
        for name in options:
            if name not in names:
                raise NotCompiled(f"`{name} =` is not compiled", span)

    def some_array(self, held: Any, span: Span, whole: bool = False) -> Array:
        """What is held as an array; `whole`: no element is read on its own."""
        found = self.stacked(held, span) if whole else self.as_array(held, span)
        if not isinstance(found, Array):
            raise NotCompiled("a number is no array here", span)
        return found

    def groups(self, array: Array, axis: Any, span: Span) -> list[list[Value]]:
        """The elements that a reduction along an axis takes together."""
        k, rank = self.axis(axis, array.shape, span), len(array.shape)
        if rank == 1:
            return [list(array.items)]
        if array.shape[k] >= 8:
            raise NotCompiled("the order of additions along this axis is NumPy's", span)
        width = array.shape[1]
        lines = [list(array.items[n : n + width]) for n in range(0, len(array.items), width)]
        return lines if k else [list(column) for column in zip(*lines, strict=True)]

    def axis(self, held: Any, shape: tuple[int, ...], span: Span) -> int:
        """An axis of an array that has one or two."""
        k, rank = self.known_int(held, span), len(shape)
        if rank > 2 or not -rank <= k < rank:
            raise NotCompiled("reductions along this axis are not compiled", span)
        return k % rank

    def reduced(self, held: Any, options: Options, span: Span, of: Callable[[Group], Value]) -> Any:
        """What `of` makes of the elements of an array, or of those along an axis."""
        self.only(options, ["axis"], span)
        axis = options.get("axis")
        if not (isinstance(held, Pending) and is_many(held.shape) and held.operations == 0):
            held = self.whole(held, span)
        if isinstance(held, Stored | Pending):
            return self.of_stored(self.elements(held), axis, span, of)
        array = self.some_array(held, span, whole=axis is None)
        if axis is None:
            return of(list(array.items))
        found = [of(group) for group in self.groups(array, axis, span)]
        return self.array((len(found),), found, span) if len(array.shape) > 1 else found[0]

    def of_stored(self, held: Pending, axis: Any, span: Span, of: Callable[[Group], Value]) -> Any:
        k = None if axis is None else self.axis(axis, held.shape, span)
        if k is None or len(held.shape) == 1:
            return of(held)
        n, width = held.shape

        def row(place: Value) -> Group:
            first = self.times(place, width)
            return Pending((width,), held.type, lambda j: held.at(self.sum_of_ints([first, j])))

        def column(place: Value) -> Group:
            def at(i: Value) -> Value:
                return held.at(self.sum_of_ints([self.times(i, width), place]))

            return Pending((n,), held.type, at, strided=True)

        group = row if k else column
        with self.builder.inside(Block()):  # which is thrown away
            kind = of(group(Value(I64))).type
        assert isinstance(kind, Scalar)
        made = self.made(Pending(held.shape[1 - k :][:1], kind, lambda at: of(group(at))), span)
        return self.few_apart(Stored(made), span)

    def sum(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Value:
            return self.total(self.numbers(items), span)

        return self.reduced(operands[0], options, span, of)

    def numbers(self, items: Group) -> Group:
        """Bools as ints, which they are where they are added."""
        kind = items.type if isinstance(items, Pending) else items[0].type
        return self.as_all(items, I64) if kind == BOOL else items

    def as_all(self, items: Group, kind: Scalar) -> Group:
        """Elements as those of another type."""
        return self.each(items, kind, lambda item: self.builder.cast(item, kind))

    def each(self, items: Group, kind: Scalar, change: Callable[[Value], Value]) -> Group:
        """Elements that become others, of a type."""
        if isinstance(items, Pending):
            return items._replace(type=kind, at=lambda place: change(items.at(place)))
        return [change(item) for item in items]

    def mean(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: Group) -> Value:
            total, size = self.total(self.as_all(items, F64), span), number_of(items)
            return self.builder.apply("div", [total, self.builder.constant(size)], span)

        return self.reduced(operands[0], options, span, of)

    def norm(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """The root of the sum of squares, of zeros or where it is so far from the ends of the range
        that the interpreter doesn't scale."""
        builder = self.builder

        def of(items: Group) -> Value:
            items = self.as_all(items, F64)
            # The square of an item, not of its size: that has another derivative, and at 0 none.
            total = self.total(
                self.each(items, F64, lambda item: builder.apply("mul", [item, item], span)), span
            )
            sizes = self.each(items, F64, lambda item: builder.apply("abs", [item], span))
            zero, low, high = [builder.constant(edge) for edge in (0.0, 1e-280, 1e300)]
            is_zero = builder.apply("eq", [self.total(sizes, span), zero], span)
            is_large = builder.apply("gt", [total, low], span)
            builder.add(Check(builder.apply("where", [is_zero, is_zero, is_large], span)))
            builder.add(Check(builder.apply("lt", [total, high], span)))
            return builder.apply("sqrt", [total], span)

        return self.reduced(operands[0], options, span, of)

    def any_of(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.truth(operands[0], options, span, True)

    def all_of(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.truth(operands[0], options, span, False)

    def truth(self, held: Any, options: Options, span: Span, stop: bool) -> Any:
        """Whether any element is true, or, without `stop`, whether all are."""

        def either(found: Value, item: Value) -> Value:
            sides = (self.builder.constant(True), found) if stop else (found, item)
            return self.builder.apply("where", [item, *sides], span)

        def of(items: Group) -> Value:
            if any(kind != BOOL for kind in _types(items)):
                raise NotCompiled("`any` and `all` of numbers are not compiled", span)
            first = self.builder.constant(not stop)
            if isinstance(items, Pending):
                return self.folded(items.size, first, lambda k, a: either(a, items.at(k)), span)
            return reduce(either, items, first)

        return self.reduced(held, options, span, of)

    def cumsum(self, operands: Sequence[Any], options: Options, span: Span) -> Array:
        """The sums of the first elements, each of the one before."""
        array = self.some_array(operands[0], span)
        if len(array.shape) > 1 or options:
            raise NotCompiled("`cumsum` of more than one axis is not compiled", span)
        items = [
            self.builder.cast(item, I64) if item.type == BOOL else item for item in array.items
        ]
        totals = items[:1]
        for item in items[1:]:
            totals.append(self.added([totals[-1], item], span))
        return self.tied(self.array(array.shape, totals, span))
