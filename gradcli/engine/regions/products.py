"""Products of vectors and matrices in IR."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import Value
from ..ir.types import BOOL, F64, I64
from .arrays import MAX_ELEMENTS, is_many
from .kinds import Array, Stored
from .names import NotCompiled
from .reductions import Options, Reductions
from .stored import Pending

MAX_PRODUCTS = 2**15  # of numbers; larger products are better left to BLAS


class Products(Reductions):
    """The lowering of products, whose terms are added one after another."""

    def matmul(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        a, b = [self.factor(held, span) for held in operands]
        left, right, n = a.shape[:-1], b.shape[1:], a.shape[-1]
        if n != b.shape[0] or len(left) > 1 or len(right) > 1:
            raise NotCompiled("the shapes of these factors don't fit", span)
        size = prod((*left, *right, n))
        if size <= MAX_ELEMENTS:
            return self.unrolled_product(self.apart(a, span), self.apart(b, span), span)
        if size > MAX_PRODUCTS:
            raise NotCompiled("a product of large arrays is not compiled", span)
        return self.looped_product(self.operand(a, span), self.operand(b, span), span)

    def factor(self, held: Any, span: Span) -> Array | Stored:
        found = held if isinstance(held, Stored) else self.as_array(held, span)
        kind = found.type.element if isinstance(found, Stored) else found.type
        if not isinstance(found, Array | Stored) or kind == BOOL:
            raise NotCompiled("a product with what is no array of numbers is not compiled", span)
        return found

    def apart(self, held: Array | Stored, span: Span) -> Array:
        """The elements of an array as scalars."""
        return self.unpacked(held, span) if isinstance(held, Stored) else held

    def unrolled_product(self, a: Array, b: Array, span: Span) -> Any:
        n, width = a.shape[-1], prod(b.shape[1:])
        self.count(span, len(a.items) * width)

        def element(i: int, j: int) -> Value:
            pairs = zip(a.items[i * n : (i + 1) * n], b.items[j::width], strict=True)
            return self.added([self.builder.apply("mul", list(pair), span) for pair in pairs], span)

        found = [element(i, j) for i in range(len(a.items) // n) for j in range(width)]
        shape = a.shape[:-1] + b.shape[1:]
        return self.tied(self.array(shape, found, span)) if shape else found[0]

    def looped_product(self, a: Pending, b: Pending, span: Span) -> Any:
        builder, n, width = self.builder, a.shape[-1], prod(b.shape[1:])
        kind = F64 if F64 in (a.type, b.type) else I64
        rows = (a.size // n, width)

        def at(place: Value) -> Value:
            begin = self.times(self.digit(place, 0, rows), n)
            column = self.digit(place, 1, rows)

            def plus(k: Value, total: Value) -> Value:
                left = a.at(self.sum_of_ints([begin, k]))
                right = b.at(self.sum_of_ints([self.times(k, width), column]))
                return self.added([total, builder.apply("mul", [left, right], span)], span)

            return self.folded(n, builder.zero(kind), plus, span)

        shape = a.shape[:-1] + b.shape[1:]
        if not shape:
            return at(builder.constant(0))
        return self.few_apart(Stored(self.made(Pending(shape, kind, at), span)), span)

    def outer(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """The products of each element of one array with each of another."""
        a, b = [self.viewed(self.factor(held, span), span) for held in operands]
        sizes = (a.size, b.size)

        def at(place: Value) -> Value:
            pair = [a.at(self.digit(place, 0, sizes)), b.at(self.digit(place, 1, sizes))]
            return self.builder.apply("mul", pair, span)

        kind = F64 if F64 in (a.type, b.type) else I64
        return self.whole(Pending(sizes, kind, at), span)

    # ---- other shapes ----------------------------------------------------------------------------

    def viewed(self, held: Any, span: Span) -> Pending:
        """An array, to be read place by place; one of few elements only at places that are known
        here."""
        array = held if isinstance(held, Stored) else self.some_array(held, span)
        if isinstance(array, Array) and not is_many(array.shape):
            known = self.builder.known
            return Pending(array.shape, array.type, lambda place: array.items[known[place]])
        found: Pending = self.operand(array, span)
        return found

    def transpose(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        self.only(options, [], span)
        array = self.viewed(operands[0], span)
        if len(array.shape) != 2:
            raise NotCompiled("only matrices are transposed where code is compiled", span)
        shape = array.shape[::-1]

        def at(place: Value) -> Value:
            row, column = [self.digit(place, k, shape) for k in (0, 1)]
            return array.at(self.sum_of_ints([self.times(column, shape[0]), row]))

        return self.whole(Pending(shape, array.type, at), span)

    def reshape(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        self.only(options, ["shape"], span)
        array, sizes = self.viewed(operands[0], span), options["shape"]
        sizes = sizes if type(sizes) is tuple else (sizes,)
        shape = [self.known_int(size, span) for size in sizes]
        rest = prod(size for size in shape if size != -1)
        if shape.count(-1) == 1 and rest > 0:
            shape[shape.index(-1)] = array.size // rest
        if not shape or min(shape) < 1 or prod(shape) != array.size:
            raise NotCompiled("the elements don't fit this shape", span)
        return self.whole(array._replace(shape=tuple(shape)), span)

    def ravel(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        array = self.viewed(operands[0], span)
        return self.whole(array._replace(shape=(array.size,)), span)
