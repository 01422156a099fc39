"""Reductions of small arrays in IR, with the bits of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import Check, Value
from ..ir.types import BOOL, F64, I64
from .elements import Elements
from .kinds import Array
from .names import NotCompiled

Options = Mapping[str, Any]


class Reductions(Elements):
    """The lowering of sums, means, norms, and of `any` and `all`."""

    def known_int(self, held: Any, span: Span) -> int:
        known = self.builder.known.get(held) if isinstance(held, Value) else None
        if type(known) is not int:
            raise NotCompiled("an int that isn't known here is not compiled", span)
        return known

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

    def groups(self, held: Any, options: Options, span: Span) -> tuple[Array, list[list[Value]]]:
        """An array, and the elements that a reduction along an axis takes together: all of them if
        there is none."""
        axis = options.get("axis")
        array = self.some_array(held, span, whole=axis is None)
        self.only(options, ["axis"], span)
        if axis is None:
            return array, [list(array.items)]
        k, rank = self.known_int(axis, span), len(array.shape)
        if rank == 1 and k in (0, -1):
            return array, [list(array.items)]
        if rank != 2 or not -rank <= k < rank or array.shape[k] >= 8:
            raise NotCompiled("the order of additions along this axis is NumPy's", span)
        width = array.shape[1]
        lines = [list(array.items[n : n + width]) for n in range(0, len(array.items), width)]
        return array, lines if k % 2 else [list(column) for column in zip(*lines, strict=True)]

    def reduced(
        self, held: Any, options: Options, span: Span, of: Callable[[list[Value]], Value]
    ) -> Any:
        array, groups = self.groups(held, options, span)
        found = [of(group) for group in groups]
        along = options.get("axis") is not None and len(array.shape) > 1
        return self.array((len(found),), found, span) if along else found[0]

    def sum(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: list[Value]) -> Value:
            return self.total([self.number(item) for item in items], span)

        return self.reduced(operands[0], options, span, of)

    def number(self, item: Value) -> Value:
        """A bool as an int, which it is where it is added."""
        return self.builder.cast(item, I64) if item.type == BOOL else item

    def mean(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        def of(items: list[Value]) -> Value:
            total = self.total([self.builder.cast(item, F64) for item in items], span)
            return self.builder.apply("div", [total, self.builder.constant(len(items))], span)

        return self.reduced(operands[0], options, span, of)

    def norm(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """The root of the sum of squares, of zeros or where it is so far from the ends of the range
        that the interpreter doesn't scale."""
        builder = self.builder

        def of(items: list[Value]) -> Value:
            sizes = [builder.apply("abs", [builder.cast(item, F64)], span) for item in items]
            squares = [builder.apply("mul", [size, size], span) for size in sizes]
            total = self.total(squares, span)
            zero, low, high = [builder.constant(edge) for edge in (0.0, 1e-280, 1e300)]
            is_zero = builder.apply("eq", [self.added(sizes, span), zero], span)
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

        def of(items: list[Value]) -> Value:
            if any(item.type != BOOL for item in items):
                raise NotCompiled("`any` and `all` of numbers are not compiled", span)
            found = self.builder.constant(not stop)
            for item in items:
                sides = (self.builder.constant(True), found) if stop else (found, item)
                found = self.builder.apply("where", [item, *sides], span)
            return found

        return self.reduced(held, options, span, of)

    def product(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        raise NotCompiled(
            "products of arrays are added in an order that depends on the processor", span
        )

    def cumsum(self, operands: Sequence[Any], options: Options, span: Span) -> Array:
        """The sums of the first elements, each of the one before."""
        array = self.some_array(operands[0], span)
        if len(array.shape) > 1 or options:
            raise NotCompiled("`cumsum` of more than one axis is not compiled", span)
        items = [self.number(item) for item in array.items]
        totals = items[:1]
        for item in items[1:]:
            totals.append(self.added([totals[-1], item], span))
        return self.tied(self.array(array.shape, totals, span))
