"""Products of vectors and matrices in IR."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...diagnostics import Span
from ..ir.instructions import LARGE_PRODUCT, Value
from ..ir.types import BOOL, F32, I64, ArrayType, is_float, widest
from .arrays import MAX_ELEMENTS, is_many
from .kinds import Array, Stored
from .names import NotCompiled
from .reductions import Options, Reductions
from .stored import Indices, Pending


class Products(Reductions):
    """The lowering of products, whose terms are added one after another."""

    def matmul(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        a, b = self.factors(operands, span)
        left, right, n = a.shape[:-1], b.shape[1:], a.shape[-1]
        if len(left) > 1 and left[:-1] == b.shape[:-2] and n == b.shape[-2]:
            return self.pairs_of_matrices(a, b, span)
        if n != b.shape[0] or len(left) > 1 or len(right) > 1:
            raise NotCompiled("the shapes of these factors don't fit", span)
        size = prod((*left, *right, n))
        if size <= MAX_ELEMENTS:
            return self.unrolled_product(self.apart(a, span), self.apart(b, span), span)
        a, b = self.operand(a, span), self.operand(b, span)
        if size < LARGE_PRODUCT:
            return self.looped_product(a, b, span)
        if a.type == b.type == I64:
            raise NotCompiled("a product of large arrays of ints is not compiled", span)
        shape, sizes = (*left, *right), (1, prod(left), n, prod(right))
        found = self.large_product(a, b, sizes, shape or (1,), span)
        if not shape:
            return self.builder.element(found, self.builder.constant(0))
        return self.few_apart(Stored(found), span)

    def pairs_of_matrices(self, a: Any, b: Any, span: Span) -> Any:
        """The products of as many pairs of matrices as the axes before the last two say."""
        *count, m, k = a.shape
        n = b.shape[-1]
        sizes = (prod(count), m, k, n)
        if prod(sizes) < LARGE_PRODUCT:
            raise NotCompiled("products of small matrices are not compiled in pairs", span)
        a, b = self.operand(a, span), self.operand(b, span)
        if a.type == b.type == I64:
            raise NotCompiled("products of large arrays of ints are not compiled", span)
        found = self.large_product(a, b, sizes, (*count, m, n), span)
        return self.few_apart(Stored(found), span)

    def large_product(
        self,
        a: Pending,
        b: Pending,
        sizes: tuple[int, int, int, int],
        shape: tuple[int, ...],
        span: Span,
    ) -> Value:
        """A product that NumPy computes."""
        (x, by_columns), (y, right_by_columns) = [self.matrix(each, span) for each in (a, b)]
        return self.builder.product(x, y, sizes, (by_columns, right_by_columns), shape)

    def matrix(self, factor: Pending, span: Span) -> tuple[Value, bool]:
        """A factor in memory, and whether it is column by column."""
        if factor.transposed is not None:
            return factor.transposed, True
        floats = self.mapped(lambda v: self.as_float(v, span), [factor], span)
        return self.made(factor if is_float(factor.type) else floats, span), False

    def factors(self, operands: Sequence[Any], span: Span) -> list[Any]:
        """Factors as arrays, of types that NumPy doesn't widen."""
        found = [self.factor(held, span) for held in operands]
        types = {each.type.element if isinstance(each, Stored) else each.type for each in found}
        if F32 in types and len(types) > 1:
            raise NotCompiled("a product of float32 and other numbers is not compiled", span)
        return found

    def factor(self, held: Any, span: Span) -> Array | Stored | Pending:
        is_view = isinstance(held, Pending) and held.operations == 0 and is_many(held.shape)
        if not is_view:
            held = self.whole(held, span)
        if type(held) is tuple:
            held = self.as_array(held, span)
        found: Array | Stored | Pending = held
        kind = found.type.element if isinstance(found, Stored) else found.type
        if not isinstance(found, Array | Stored | Pending) or kind == BOOL:
            raise NotCompiled("a product with what is no array of numbers is not compiled", span)
        return found

    def apart(self, held: Array | Stored | Pending, span: Span) -> Array:
        """The elements of an array as scalars."""
        return held if isinstance(held, Array) else self.unpacked(held, span)

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
        """A product whose terms are added one after another, row by row of the right factor."""
        builder, n = self.builder, a.shape[-1]
        kind = widest({a.type, b.type})
        left, right = a.shape[:-1], b.shape[1:]
        shape = (*left, *right)

        def term(indices: Indices) -> list[Value]:
            rows, (k, *columns) = indices[: len(left)], indices[len(left) :]
            factors = [a.at([*rows, k]), b.at([k, *columns])]
            found = builder.apply("mul", factors, span)
            return [found, self.place([*rows, *columns], shape)] if shape else [found]

        first = builder.zero(kind)
        initial = builder.filled(ArrayType(kind, shape), first) if shape else first
        [found] = self.over((*left, n, *right), [("add", initial)], term, span)
        return self.few_apart(Stored(found), span) if shape else found

    def outer(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        """The products of each element of one array with each of another."""
        factors = self.factors(operands, span)
        if is_many(tuple([prod(held.shape) for held in factors])):
            factors = [self.in_memory(held) for held in factors]
        a, b = [self.line_of(held, span) for held in factors]

        def at(indices: Indices) -> Value:
            pair = [each.at([k]) for each, k in zip((a, b), indices, strict=True)]
            return self.builder.apply("mul", pair, span)

        kind = widest({a.type, b.type})
        return self.whole(Pending((a.size, b.size), kind, at), span)

    # ---- other shapes ----------------------------------------------------------------------------

    def viewed(self, held: Any, span: Span) -> Pending:
        """An array, to be read element by element; one of few elements only at indices that are
        known here."""
        array = held if isinstance(held, Stored | Pending) else self.some_array(held, span)
        if isinstance(array, Array) and not is_many(array.shape):
            known, shape = self.builder.known, array.shape

            def at(indices: Indices) -> Value:
                item: Value = array.items[known[self.place(indices, shape)]]
                return item

            return Pending(shape, array.type, at, lambda place: array.items[known[place]])
        found: Pending = self.operand(array, span)
        return found

    def line_of(self, held: Any, span: Span) -> Pending:
        """The elements of an array, as one of one axis."""
        array = self.viewed(held, span)
        flat = array.flat or self.elements(Stored(self.made(array, span))).flat
        assert flat is not None
        return Pending((array.size,), array.type, lambda k: flat(k[0]), flat, array.operations)

    def transpose(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        self.only(options, [], span)
        held = operands[0]
        array = self.viewed(held, span)
        if len(array.shape) != 2:
            raise NotCompiled("only matrices are transposed where code is compiled", span)
        if array.transposed is not None:
            return Stored(array.transposed)
        shape = array.shape[::-1]
        original = held.value if isinstance(held, Stored) else None
        found = Pending(
            shape, array.type, lambda k: array.at([k[1], k[0]]), None, 0, transposed=original
        )
        return found if is_many(shape) else self.whole(found, span)

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
        return self.reshaped(array, tuple(shape), span)

    def reshaped(self, held: Any, shape: tuple[int, ...], span: Span) -> Any:
        """An array with its elements, as many, in another shape."""
        array = self.line_of(held, span)
        flat = array.flat
        assert flat is not None
        found = Pending(
            shape, array.type, lambda k: flat(self.place(k, shape)), flat, array.operations
        )
        return self.whole(found, span)

    def ravel(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return self.whole(self.line_of(operands[0], span), span)
