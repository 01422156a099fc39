"""Calls of builtins in IR: operations on numbers and small arrays, and those that have a meaning of
their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics import Span
from ...ops.op import BindingError, Op
from ..ir.instructions import Check, Value
from ..ir.types import BOOL, F64, I64
from ..ir.verifier import on_scalars
from .elements import Elements
from .kinds import Array
from .names import NotCompiled

Options = Mapping[str, Any]


class Builtins(Elements):
    """The lowering of builtins."""

    def apply(
        self, op: Op, operands: Sequence[Any], span: Span, options: Options | None = None
    ) -> Any:
        """A builtin, applied to what is held, with options of which some may be missing."""
        if own := _OWN.get(op.name):
            return own(self, operands, options or {}, span)
        if op.name in ("eq", "ne") and any(v is None or type(v) is str for v in operands):
            a, b = operands
            return self.builder.constant((type(a) is type(b) and a == b) == (op.name == "eq"))
        if options:
            raise NotCompiled(f"`{op.name}` with options is not compiled", span)
        if not on_scalars(op) or not any(isinstance(v, tuple | Array) for v in operands):
            return self.scalar(op, operands, span)
        if op.name in ("eq", "ne") and all(type(v) is tuple for v in operands):
            raise NotCompiled("a comparison of lists is not compiled", span)
        return self.elementwise(op, operands, span)

    def bound_call(self, op: Op, given: Sequence[Any], named: Mapping[str, Any], span: Span) -> Any:
        """A call of a builtin as a value, with its arguments bound to its signature."""
        signature = op.signature
        try:
            places, options = signature.bind(op.name, len(given), list(named))
        except BindingError:
            raise NotCompiled(f"this call of `{op.name}` is not compiled", span) from None

        def argument(place: Any) -> Any:
            if type(place) is tuple:
                return tuple([given[k] for k in place])
            return named[place] if type(place) is str else given[place]

        operands = [
            self.default(signature.operands[k].default) if place is None else argument(place)
            for k, place in enumerate(places)
        ]
        chosen = {name: argument(place) for name, place in options.items()}
        return self.apply(op, operands, span, chosen)

    def default(self, value: Any) -> Any:
        """What an operand is that isn't given."""
        return self.builder.constant(value) if type(value) in (float, int, bool) else value

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

    # ---- lists -----------------------------------------------------------------------------------

    def length(self, operands: Sequence[Any], options: Options, span: Span) -> Value:
        return self.builder.constant(len(self.rows(operands[0], span)))

    def append(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        if type(operands[0]) is not tuple:
            raise NotCompiled("`append` to what is no list is not compiled", span)
        return (*operands[0], operands[1])

    def list_as_array(self, operands: Sequence[Any], options: Options, span: Span) -> Array:
        return self.some_array(operands[0], span)

    def zip(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        return tuple(zip(*[self.rows(held, span) for held in operands], strict=False))

    def enumerate(self, operands: Sequence[Any], options: Options, span: Span) -> Any:
        rows = self.rows(operands[0], span)
        return tuple([(self.builder.constant(k), row) for k, row in enumerate(rows)])

    def some_array(self, held: Any, span: Span, whole: bool = False) -> Array:
        """What is held as an array; `whole`: no element is read on its own."""
        found = self.stacked(held, span) if whole else self.as_array(held, span)
        if not isinstance(found, Array):
            raise NotCompiled("a number is no array here", span)
        return found

    # ---- arrays ----------------------------------------------------------------------------------

    def filled(self, value: Value, shape: Any, span: Span) -> Array:
        sizes = shape if type(shape) is tuple else (shape,)
        known = tuple([self.known_int(size, span) for size in sizes])
        count = 1
        for size in known:
            count *= max(size, 0)
        if not 0 < count <= 64 or not known:
            raise NotCompiled("an array of no elements, or of many, is not compiled", span)
        return self.array(known, [value] * count, span)

    def zeros(self, operands: Sequence[Any], options: Options, span: Span) -> Array:
        return self.filled(self.builder.constant(0.0), options["shape"], span)

    def ones(self, operands: Sequence[Any], options: Options, span: Span) -> Array:
        return self.filled(self.builder.constant(1.0), options["shape"], span)

    def full(self, operands: Sequence[Any], options: Options, span: Span) -> Array:
        if not isinstance(operands[0], Value):
            raise NotCompiled("`full` of what is no number is not compiled", span)
        return self.filled(operands[0], options["shape"], span)

    # ---- reductions ------------------------------------------------------------------------------

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


_OWN: dict[str, Callable[[Builtins, Sequence[Any], Options, Span], Any]] = {
    "len": Builtins.length,
    "append": Builtins.append,
    "array": Builtins.list_as_array,
    "zip": Builtins.zip,
    "enumerate": Builtins.enumerate,
    "zeros": Builtins.zeros,
    "ones": Builtins.ones,
    "full": Builtins.full,
    "sum": Builtins.sum,
    "mean": Builtins.mean,
    "norm": Builtins.norm,
    "any": Builtins.any_of,
    "all": Builtins.all_of,
    "dot": Builtins.product,
    "matmul": Builtins.product,
}
