"""Products of vectors and matrices, and sums of products by labels, in IR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any

from ....ops.einsum import Roles, Step, by_steps, einsum_terms, roles_of, steps_of
from ....ops.op import OpError
from ...ir.instructions import LARGE_PRODUCT, Value
from ...ir.types import BOOL, F32, I64, ArrayType, Scalar, is_float, strides, widest
from ..held.kinds import Array, Stored, is_many
from ..held.names import NotCompiled
from ..values.arrays import MAX_ELEMENTS
from ..values.stored import Indices, Pending
from .reductions import Found, Group, Lines, Options, Reductions

Sizes = Mapping[str, int]  # of labels


class Products(Reductions):
    """The lowering of products, whose terms are added one after another."""

    def matmul(self, operands: Sequence[Any], options: Options) -> Any:
        a, b = factors = self.factors(operands)
        left = "...mk" if len(a.shape) > 2 else "mk"[-len(a.shape) :]
        right = "...kn" if len(b.shape) > 2 else "kn"[: len(b.shape)]
        of_both = [label for label in ("...", "m", "n") if label in left + right]
        return self.by_subscripts(f"{left},{right}->{''.join(of_both)}", factors)

    def dot(self, operands: Sequence[Any], options: Options) -> Any:
        if any(len(held.shape) > 2 for held in self.factors(operands)):
            raise NotCompiled("`dot` of arrays of more than two axes is not compiled")
        return self.matmul(operands, options)

    def inner(self, operands: Sequence[Any], options: Options) -> Any:
        factors = self.factors(operands)
        if any(len(held.shape) > 2 for held in factors):
            raise NotCompiled("`inner` of arrays of more than two axes is not compiled")
        a, b = ["mk"[-len(factors[0].shape) :], "nk"[-len(factors[1].shape) :]]
        return self.by_subscripts(f"{a},{b}->{a[:-1]}{b[:-1]}", factors)

    def cross(self, operands: Sequence[Any], options: Options) -> Any:
        factors = self.factors(operands)
        if any(held.shape != (3,) for held in factors):
            raise NotCompiled("`cross` is compiled only for two vectors")
        a, b = [self.as_scalars(held) for held in factors]

        def element(i: int, k: int) -> Value:
            left, right = [self.multiplied([a.items[m], b.items[n]]) for m, n in ((i, k), (k, i))]
            return self.builder.apply("sub", [left, right])

        self.count(3)
        found = [element(1, 2), element(2, 0), element(0, 1)]
        return self.tied(self.array((3,), found))

    def prod(self, operands: Sequence[Any], options: Options) -> Any:
        """The product of few elements."""

        def of(items: Group) -> Found:
            items = self.numbers(items)
            if isinstance(items, Lines):
                raise NotCompiled("`prod` of many elements is not compiled")
            self.count(len(items))
            return self.multiplied(items)

        return self.reduced(operands[0], options, of)

    def cumprod(self, operands: Sequence[Any], options: Options) -> Any:
        """The products of the first elements, one for each of a few elements."""
        array = self.some_elements(operands[0])
        if len(array.shape) > 1 or options:
            raise NotCompiled("`cumprod` of more than one axis is not compiled")
        found = accumulate(self.numbers(array.items), lambda a, b: self.multiplied([a, b]))
        return self.tied(self.array(array.shape, list(found)))

    def einsum(self, operands: Sequence[Any], options: Options) -> Any:
        return self.by_subscripts(options["subscripts"], self.factors(operands))

    def by_subscripts(self, subscripts: Any, factors: Sequence[Any]) -> Any:
        """A sum of products of arrays whose axes have labels, as `einsum` takes them."""
        try:
            terms, result, sizes = einsum_terms(subscripts, [held.shape for held in factors])
        except OpError:
            raise NotCompiled("the shapes of these factors don't fit") from None
        work, roles = prod(sizes.values()), roles_of(terms, result)
        if work <= MAX_ELEMENTS:
            arrays = [self.as_scalars(held) for held in factors]
            return self.unrolled_products(arrays, terms, result, sizes)
        parts = [self.operand(held) for held in factors]
        are_ints = all(part.type == I64 for part in parts)
        if work < LARGE_PRODUCT or len(parts) == 1 or (roles is not None and are_ints):
            return self.looped_products(parts, terms, result, sizes)
        if roles is None and len(parts) > 2 and (steps := steps_of(terms, result, sizes)):
            return self.products_of_pairs(factors, terms, steps)
        if roles is None:
            raise NotCompiled("many products other than those of matrices are not compiled")
        return self.products_of_matrices(factors, terms, result, roles, sizes)

    # ---- sums of products ------------------------------------------------------------------------

    def unrolled_products(
        self, arrays: Sequence[Array], terms: Sequence[str], result: str, sizes: Sizes
    ) -> Any:
        self.count(prod(sizes.values()))
        inner = "".join([label for label in sizes if label not in result])

        def factors(at: Sizes) -> Iterator[Value]:
            for array, term in zip(arrays, terms, strict=True):
                steps = zip(term, strides(array.shape), array.shape, strict=True)
                yield array.items[sum([at[label] * step for label, step, n in steps if n > 1])]

        def element(outer: Sizes) -> Value:
            every = [factors({**outer, **at}) for at in _places(inner, sizes)]
            return self.added([self.multiplied([*each]) for each in every])

        found = [element(outer) for outer in _places(result, sizes)]
        shape = tuple([sizes[label] for label in result])
        return self.tied(self.array(shape, found)) if shape else found[0]

    def looped_products(
        self, parts: Sequence[Pending], terms: Sequence[str], result: str, sizes: Sizes
    ) -> Any:
        """The sums as an `each`. Without terms to add, the elements of an expression."""
        builder, order = self.builder, _loops(terms, result)
        kind = widest({part.type for part in parts})
        shape = tuple([sizes[label] for label in result])

        def multiplied(at: Mapping[str, Value]) -> Value:
            read = [self.at_labels(each, term, at) for each, term in zip(parts, terms, strict=True)]
            return self.multiplied(read)

        if len(order) == len(result):
            work = len(parts) - 1 + sum([part.operations for part in parts])

            def found(indices: Indices) -> Value:
                return multiplied(dict(zip(result, indices, strict=True)))

            return self.whole(Pending(shape, kind, found, None, work))

        def term(indices: Indices) -> list[Value]:
            at = dict(zip(order, indices, strict=True))
            place = [self.place([at[label] for label in result], shape)] if shape else []
            return [multiplied(at), *place]

        first = builder.zero(kind)
        initial = builder.filled(ArrayType(kind, shape), first) if shape else first
        [total] = self.over([sizes[label] for label in order], [("add", initial)], term)
        return self.few_apart(Stored(total)) if shape else total

    def multiplied(self, factors: Sequence[Value]) -> Value:
        found = factors[0]
        for factor in factors[1:]:
            found = self.builder.apply("mul", [found, factor])
        return found

    def at_labels(self, array: Pending, labels: str, at: Mapping[str, Value]) -> Value:
        """The element of an array at labels. Axes of one element are broadcast."""
        sizes = zip(labels, array.shape, strict=True)
        return array.at([at[each] if n > 1 else self.builder.constant(0) for each, n in sizes])

    def products_of_pairs(
        self, factors: Sequence[Any], terms: Sequence[str], steps: Iterable[Step]
    ) -> Any:
        """The sums of products of several factors, two at a time."""

        def of_pair(pair: Sequence[Any], own: Sequence[str], into: str) -> Any:
            given = [_without_axes(each) if isinstance(each, Value) else each for each in pair]
            return self.by_subscripts(f"{','.join(own)}->{into}", given)

        return by_steps(steps, factors, terms, of_pair)

    # ---- products of matrices --------------------------------------------------------------------

    def products_of_matrices(
        self, factors: Sequence[Any], terms: Sequence[str], result: str, roles: Roles, sizes: Sizes
    ) -> Any:
        """Products that NumPy computes."""
        (a, b), (left, right) = factors, terms
        by_rows = roles.pairs + roles.inner + roles.rows
        x, x_by_columns = self.matrices(a, left, roles.left, by_rows, sizes)
        by_columns = roles.pairs + roles.columns + roles.inner
        y, y_by_columns = self.matrices(b, right, roles.right, by_columns, sizes)
        shape = tuple([sizes[label] for label in roles.result])
        found = self.builder.product(
            x, y, roles.sizes(sizes), (x_by_columns, y_by_columns), shape or (1,)
        )
        if not shape:
            return self.builder.element(found, self.builder.constant(0))
        made = Stored(found)
        if roles.result != result:
            return self.whole(self.relabelled(made, roles.result, result, sizes))
        return self.few_apart(made)

    def matrices(
        self, held: Any, labels: str, order: str, turned: str, sizes: Sizes
    ) -> tuple[Value, bool]:
        """A factor in memory with its axes in an order, and whether its matrices are column by
        column, which is so if it has the order `turned`."""
        if labels == turned != order and isinstance(held, Stored) and is_float(held.type.element):
            return held.value, True
        return self.matrix(self.relabelled(held, labels, order, sizes))

    def relabelled(self, held: Any, labels: str, order: str, sizes: Sizes) -> Pending:
        """An array with its axes in another order. Axes of one element are broadcast."""
        array: Pending = self.operand(held)
        shape = tuple([sizes[label] for label in order])
        if (labels, array.shape) == (order, shape):
            return array

        def at(indices: Indices) -> Value:
            return self.at_labels(array, labels, dict(zip(order, indices, strict=True)))

        return Pending(shape, array.type, at, None, array.operations)

    def matrix(self, factor: Pending) -> tuple[Value, bool]:
        """A factor in memory, and whether it is column by column."""
        if factor.transposed is not None:
            return factor.transposed, True
        floats = self.mapped(lambda v: self.as_float(v), [factor])
        return self.made(factor if is_float(factor.type) else floats), False

    def factors(self, operands: Sequence[Any]) -> list[Any]:
        """Factors as arrays, of types that NumPy wouldn't promote."""
        found = [self.factor(held) for held in operands]
        types = {each.type.element if isinstance(each, Stored) else each.type for each in found}
        if F32 in types and len(types) > 1:
            raise NotCompiled("a product of float32 and other numbers is not compiled")
        return found

    def factor(self, held: Any) -> Array | Stored | Pending:
        is_view = isinstance(held, Pending) and held.operations == 0 and is_many(held.shape)
        if not is_view:
            held = self.whole(held)
        if type(held) is tuple:
            held = self.as_array(held)
        found: Array | Stored | Pending = held
        kind = found.type.element if isinstance(found, Stored) else found.type
        if not isinstance(found, Array | Stored | Pending) or kind == BOOL:
            raise NotCompiled("a product is compiled only for arrays of numbers")
        return found

    def as_scalars(self, held: Array | Stored | Pending) -> Array:
        """The elements of an array as scalars."""
        return held if isinstance(held, Array) else self.unpacked(held)

    def outer(self, operands: Sequence[Any], options: Options) -> Any:
        """The products of each element of one array with each of another."""
        factors = self.factors(operands)
        if is_many(tuple([prod(held.shape) for held in factors])):
            factors = [self.in_memory(held) for held in factors]
        a, b = [self.line_of(held) for held in factors]

        def at(indices: Indices) -> Value:
            pair = [each.at([k]) for each, k in zip((a, b), indices, strict=True)]
            return self.builder.apply("mul", pair)

        kind = widest({a.type, b.type})
        return self.whole(Pending((a.size, b.size), kind, at))

    # ---- other shapes ----------------------------------------------------------------------------

    def viewed(self, held: Any) -> Pending:
        """An array, to be read element by element. The indices into one of few elements must be
        known."""
        array = self.any_array(held)
        if isinstance(array, Array) and not is_many(array.shape):
            known, shape = self.builder.known, array.shape

            def at(indices: Indices) -> Value:
                item: Value = array.items[known[self.place(indices, shape)]]
                return item

            return Pending(shape, array.type, at, lambda place: array.items[known[place]])
        found: Pending = self.operand(array)
        return found

    def line_of(self, held: Any) -> Pending:
        """The elements of an array as an array of one axis."""
        array = self.viewed(held)
        flat = array.flat or self.elements(Stored(self.made(array))).flat
        assert flat is not None
        return Pending((array.size,), array.type, lambda k: flat(k[0]), flat, array.operations)

    def transpose(self, operands: Sequence[Any], options: Options) -> Any:
        self.only(options, [])
        held = operands[0]
        array = self.viewed(held)
        if len(array.shape) != 2:
            raise NotCompiled("only matrices are transposed where code is compiled")
        if array.transposed is not None:
            return Stored(array.transposed)
        shape = array.shape[::-1]
        original = held.value if isinstance(held, Stored) else None
        found = Pending(
            shape, array.type, lambda k: array.at([k[1], k[0]]), None, 0, transposed=original
        )
        return found if is_many(shape) else self.whole(found)

    def reshape(self, operands: Sequence[Any], options: Options) -> Any:
        self.only(options, ["shape"])
        array, sizes = self.viewed(operands[0]), options["shape"]
        sizes = sizes if type(sizes) is tuple else (sizes,)
        shape = [self.known_int(size) for size in sizes]
        rest = prod(size for size in shape if size != -1)
        if shape.count(-1) == 1 and rest > 0:
            shape[shape.index(-1)] = array.size // rest
        if not shape or min(shape) < 1 or prod(shape) != array.size:
            raise NotCompiled("the elements don't fit this shape")
        return self.reshaped(array, tuple(shape))

    def reshaped(self, held: Any, shape: tuple[int, ...]) -> Any:
        """An array with the same elements in another shape."""
        array = self.line_of(held)
        flat = array.flat
        assert flat is not None
        found = Pending(
            shape, array.type, lambda k: flat(self.place(k, shape)), flat, array.operations
        )
        return self.whole(found)

    def ravel(self, operands: Sequence[Any], options: Options) -> Any:
        return self.whole(self.line_of(operands[0]))


def _places(labels: str, sizes: Sizes) -> Iterator[dict[str, int]]:
    """The values of the labels for each element that they count, the last label the fastest."""
    for place in product(*[range(sizes[label]) for label in labels]):
        yield dict(zip(labels, place, strict=True))


def _loops(terms: Sequence[str], result: str) -> list[str]:
    """All labels in the order of the loops over them: those of the result, then those that are
    summed over, last the one along which most arrays are contiguous."""
    labels = dict.fromkeys(result + "".join(terms))
    last = max(labels, key=lambda label: sum([t.endswith(label) for t in (*terms, result)]))
    return [*[label for label in labels if label != last], last]


def _without_axes(number: Value) -> Pending:
    """A number as an array."""
    assert isinstance(number.type, Scalar)
    return Pending((), number.type, lambda indices: number, lambda place: number)
