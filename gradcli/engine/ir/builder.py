"""Building IR: operations get the types, and the casts, that they have in the interpreter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

from ...diagnostics import Span
from ...ops import OPS
from ...ops.op import Op
from .instructions import (
    Affine,
    Block,
    Branch,
    Cast,
    Constant,
    Each,
    Element,
    For,
    Instruction,
    NewArray,
    Operation,
    Product,
    Put,
    Room,
    Structural,
    Value,
    size_of,
)
from .scalars import CHOICES, result_type
from .structural import completed, gives
from .types import BOOL, F64, FLOATS, I64, OF_PYTHON, ArrayType, Scalar, Type, is_list, rounded

# Ops on ints that are computed at once where their operands are known: indices, sizes, counts.
_ON_INTS: dict[str, Callable[..., int]] = {
    name: getattr(operator, name)
    for name in ("neg", "add", "sub", "mul", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne")
} | {
    "maximum": max,
    "minimum": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "square": lambda x: x * x,
}

# Those whose smallest and largest results are among those of the ends of the operands' intervals.
_OF_ENDS = ("neg", "add", "sub", "mul", "maximum", "minimum")

_ZEROS: dict[Scalar, Any] = {I64: 0, BOOL: False}


class TooLong(Exception):  # noqa: N818 - an answer, not an error
    """The builder was asked to add more instructions than its limit."""


class At:
    """The context of `Builder.at`, which lowering enters for each expression: a generator would
    take twice as long."""

    __slots__ = ("builder", "outer", "span")

    def __init__(self, builder: Builder, span: Span | None) -> None:
        self.builder, self.span = builder, span

    def __enter__(self) -> None:
        self.outer, self.builder.span = self.builder.span, self.span

    def __exit__(self, kind: Any, reason: Any, trace: Any) -> None:
        self.builder.span = self.outer


class Builder:
    """Adds instructions to the innermost open block."""

    def __init__(self, block: Block, real: Scalar = F64, most: int | None = None) -> None:
        """`real` is the type of the floats in a program's text, and of floats computed from ints.
        Raises TooLong after `most` instructions; those that are taken out again count, too."""
        self.block, self.real, self._rest = block, real, most
        self.span: Span | None = None  # where the operations stand that are added
        self.known: dict[Value, Any] = {}  # the constants
        self._places: dict[Value, tuple[dict[Value, int], int]] = {}  # terms and offset
        self._origins: dict[Value, Sequence[Value]] = {}  # what ints and bools were computed from
        self.bounds: dict[Value, tuple[int, int]] = {}  # the least and the largest of an int

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Adds to `block` until the context ends."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def at(self, span: Span | None) -> At:
        """Adds operations that stand at `span` in the program, until the context ends."""
        return At(self, span)

    def add(self, instruction: Instruction) -> None:
        self._count(1)
        self.block.instructions.append(instruction)

    def extend(self, instructions: Iterable[Instruction]) -> None:
        """Adds instructions that another builder made, with all that is inside them."""
        added = Block((), list(instructions))
        self._count(size_of(added))
        self.block.instructions += added.instructions
        for made in added.instructions:
            if isinstance(made, Constant):
                self.known[made.result] = made.value

    def _count(self, added: int) -> None:
        if self._rest is not None:
            self._rest -= added
            if self._rest < 0:
                raise TooLong

    @contextmanager
    def undoing(self, *reasons: type[Exception]) -> Iterator[None]:
        """Removes the instructions added in this context if one of `reasons` ends it."""
        last = self.block.instructions[-1:]
        try:
            yield
        except reasons:
            instructions = self.block.instructions
            while instructions and instructions[-1:] != last:
                del instructions[-1]
            raise

    def constant(self, value: Any) -> Value:
        """The constant of a Python float, int or bool."""
        return self.number(value, self.real if type(value) is float else OF_PYTHON[type(value)])

    def number(self, value: Any, kind: Scalar) -> Value:
        """A constant of a type."""
        value, result = rounded(value, kind), Value(kind)
        self.add(Constant(value, result))
        self.known[result] = value
        return result

    def zero(self, kind: Type) -> Value:
        """The zero of a type."""
        if isinstance(kind, ArrayType):
            return self.filled(kind, self.zero(kind.element))
        assert isinstance(kind, Scalar)
        return self.number(_ZEROS.get(kind, 0.0), kind)

    def filled(self, kind: ArrayType, number: Value) -> Value:
        """An array with one number in all its places."""
        result = Value(kind)
        self.add(NewArray(self.cast(number, kind.element), result))
        return result

    def room(self, kind: ArrayType) -> Value:
        """An array whose elements will be put later."""
        result = Value(kind)
        self.add(Room(result))
        return result

    def place(self, indices: Sequence[Value], steps: Sequence[int], offset: int = 0) -> Value:
        """The place `offset + indices · steps`, where an index may be such a sum itself."""
        terms: dict[Value, int] = {}
        for index, step in zip(indices, steps, strict=True):
            own, more = self.terms_of(index)
            offset += step * more
            for value, inner in own.items():
                terms[value] = terms.get(value, 0) + step * inner
        terms = {value: step for value, step in terms.items() if step}
        if not terms:
            return self.constant(offset)
        if offset == 0 and len(terms) == 1 and (single := next(iter(terms.items())))[1] == 1:
            return single[0]
        result = Value(I64)
        self.add(Affine(tuple(terms), tuple(terms.values()), offset, result))
        self._places[result] = terms, offset
        return result

    def is_index(self, index: Value, n: int) -> Value:
        """Whether an index names one of `n` elements, perhaps from the end."""
        low, high = self.constant(-n), self.constant(n)
        reached, below = self.apply("le", [low, index]), self.apply("lt", [index, high])
        return self.apply("where", [reached, below, reached])

    def from_start(self, index: Value, n: int) -> Value:
        """An index of one of `n` elements, counted from 0."""
        is_back = self.apply("lt", [index, self.constant(0)])
        return self.apply("where", [is_back, self.place([index], [1], n), index])

    def terms_of(self, place: Value) -> tuple[dict[Value, int], int]:
        """A place as a sum: values with what each is multiplied by, and an offset."""
        if place in self.known:
            return {}, self.known[place]
        return self._places.get(place) or ({place: 1}, 0)

    def learn(self, made: Affine) -> None:
        """Notes a place that another builder made."""
        terms = dict(zip(made.operands, made.steps, strict=True))
        self._places[made.result] = terms, made.offset

    def each(
        self,
        shape: Sequence[int],
        initial: Sequence[tuple[str, Value]],
        body: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Adds an `each`. `initial` has a way and a first value for each result. `body` gets a
        point's indices, adds the instructions of the point, and returns the results of the body."""
        indices = tuple([Value(I64) for _ in shape])
        with self.inside(Block(indices)) as block:
            block.results = tuple(body(indices))
        results = [Value(first.type) for _, first in initial]
        ways, values = tuple([way for way, _ in initial]), tuple([first for _, first in initial])
        self.add(Each(tuple(shape), values, ways, block, tuple(results)))
        return results

    def loop(
        self,
        count: Value,
        initial: Sequence[Value],
        body: Callable[[Value, Sequence[Value]], Iterable[Value]],
    ) -> Sequence[Value]:
        """Adds a `for`. `body` gets the number of an iteration and the carried values, adds the
        instructions of the iteration, and returns the next values."""
        index, *carried = [Value(I64), *[Value(first.type) for first in initial]]
        with self.inside(Block((index, *carried))) as block:
            block.results = tuple(body(index, carried))
        results = tuple([Value(first.type) for first in initial])
        self.add(For(count, tuple(initial), block, results))
        return results

    def array(self, kind: ArrayType, at: Callable[[Sequence[Value]], Value]) -> Value:
        """A new array, by an `each`; `at` gives the element at indices."""

        def body(indices: Sequence[Value]) -> list[Value]:
            return [at(indices), self.place(indices, kind.strides)]

        return self.each(kind.shape, [("put", self.room(kind))], body)[0]

    def in_form(self, array: Value, listed: bool) -> Value:
        """A list, or an array, with the numbers of either."""
        kind = array.array_type.in_form(listed)
        if kind == array.type:
            return array
        return self.array(kind, lambda k: self.element(array, self.place(k, kind.strides)))

    def product(
        self,
        left: Value,
        right: Value,
        sizes: tuple[int, int, int, int],
        transposed: tuple[bool, bool] = (False, False),
        shape: tuple[int, ...] | None = None,
    ) -> Value:
        """The product of matrices as an array of a shape, by `Product`. Lists become arrays."""
        count, m, _, n = sizes
        left, right = [self.in_form(factor, listed=False) for factor in (left, right)]
        result = Value(ArrayType(left.array_type.element, shape or (count, m, n)))
        self.add(Product(left, right, sizes, transposed, result))
        return result

    def structural(
        self, op: Op, operands: Sequence[Value], options: Mapping[str, Any]
    ) -> list[Value]:
        """The results of a structural entry of the table. A list among the operands becomes an
        array. Raises Refused."""
        arrays = [self.in_form(v, listed=False) if is_list(v.type) else v for v in operands]
        made = Structural(op, tuple(arrays), completed(op, options), (), self.span)
        made.results = tuple(map(Value, gives(made.applied)))
        self.add(made)
        return list(made.results)

    def element(self, array: Value, place: Value) -> Value:
        """The element of an array at a place that it has, counted from 0, row by row."""
        result = Value(array.array_type.element)
        self.add(Element(array, place, result))
        return result

    def element_at(self, value: Value, indices: Sequence[Value]) -> Value:
        """The element at indices of a shape to which a number or an array is broadcast."""
        if not isinstance(kind := value.type, ArrayType):
            return value
        sizes = zip(kind.shape, kind.strides, strict=True)
        steps = [0 if size == 1 else step for size, step in sizes]
        return self.element(value, self.place(indices[len(indices) - len(steps) :], steps))

    def put(self, array: Value, place: Value, number: Value) -> Value:
        """The array with another number at one of its places."""
        result = Value(array.type)
        self.add(Put(array, place, self.cast(number, array.array_type.element), result))
        return result

    def cast(self, value: Value, kind: Scalar) -> Value:
        if value.type == kind:
            return value
        if kind in FLOATS and type(known := self.known.get(value)) is float:
            return self.number(known, kind)
        result = Value(kind)
        self.add(Cast(value, result))
        return result

    def operation(self, op: Op, operands: Sequence[Value]) -> Value:
        """An elementwise op on scalars. Ints become floats beside a float, and where the op gives
        floats; bools are ints to what counts."""
        chosen, values = ([operands[0]], operands[1:]) if op in CHOICES else ([], operands)
        kind = self._kind(op, [value.type for value in values])
        if (folded := self._folded(op, values)) is not None:
            return self.constant(folded)
        cast = [self.cast(value, kind) for value in values]
        result = Value(result_type(op, kind))
        self.add(Operation(op, (*chosen, *cast), result, self.span))
        if result.type in (I64, BOOL):
            self._origins[result] = values
        if op.name in _OF_ENDS and result.type == I64:
            self._bound(result, _ON_INTS[op.name], values)
        return result

    def bounds_of(self, value: Value) -> tuple[int, int] | None:
        """The least and the largest that an int can be, if they are known."""
        known = self.known.get(value)
        return (known, known) if type(known) is int else self.bounds.get(value)

    def _bound(self, result: Value, function: Callable[..., int], values: Sequence[Value]) -> None:
        """Notes the bounds of the result of a function of ints whose bounds are known."""
        bounds = [found for value in values if (found := self.bounds_of(value)) is not None]
        if len(bounds) == len(values):
            ends = [function(*each) for each in product(*bounds)]
            self.bounds[result] = min(ends), max(ends)

    def sources(self, value: Value) -> set[Value]:
        """The values that an int or a bool was computed from by operations alone, without
        constants."""
        found: set[Value] = set()
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value in self._origins:
                waiting += self._origins[value]
            elif value not in self.known:
                found.add(value)
        return found

    def _folded(self, op: Op, values: Sequence[Value]) -> int | bool | None:
        """The result of an op on known ints, if it is a bool or an int of 64 bits, or of `not` of
        a known bool."""
        known = [self.known.get(value) for value in values]
        if op.name == "logical_not" and type(known[0]) is bool:
            return not known[0]
        if op.name not in _ON_INTS or any(type(k) is not int for k in known):
            return None
        if op.name in ("floordiv", "mod") and known[1] == 0:
            return None
        found = _ON_INTS[op.name](*known)
        return found if -(2**63) <= found < 2**63 else None

    def apply(self, name: str, operands: Sequence[Value]) -> Value:
        """An entry of the table by its name."""
        return self.operation(OPS[name], operands)

    def _kind(self, op: Op, types: list[Type]) -> Scalar:
        """The type that an op computes with."""
        floats = [kind for kind in FLOATS if kind in types]
        if floats:
            return floats[0]
        if op.integers == "float" and op not in CHOICES:
            return self.real
        keeps_bools = op in CHOICES or not op.counts_bools
        return BOOL if set(types) == {BOOL} and keeps_bools else I64

    def branch(self, condition: Value, then: Block, otherwise: Block) -> tuple[Value, ...]:
        """Adds a branch of two finished blocks."""
        results = tuple([Value(value.type) for value in then.results])
        self.add(Branch(condition, then, otherwise, results))
        return results
