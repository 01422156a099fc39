"""Building IR: operations get the types, and the casts, that the interpreter gives them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...diagnostics import Span
from ...ops import OPS
from ...ops.op import Op
from .instructions import (
    Block,
    Branch,
    Cast,
    Constant,
    Element,
    Instruction,
    NewArray,
    Operation,
    Put,
    Value,
)
from .types import BOOL, F64, FLOATS, I64, OF_PYTHON, ArrayType, Scalar, Type
from .verifier import CHOICES, result_type

# Ops on ints that are computed where their operands are known: indices, sizes and counts.
_ON_INTS: dict[str, Callable[..., int]] = {
    name: getattr(operator, name)
    for name in ("neg", "add", "sub", "mul", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne")
}

_ZEROS: dict[Scalar, Any] = {I64: 0, BOOL: False}


class Builder:
    """Adds instructions to the innermost open block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: dict[Value, Any] = {}  # the constants
        self._origins: dict[Value, Sequence[Value]] = {}  # what ints were computed from

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Adds to `block` for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def add(self, instruction: Instruction) -> None:
        self.block.instructions.append(instruction)

    @contextmanager
    def undoing(self, *reasons: type[Exception]) -> Iterator[None]:
        """Takes out of the block what is added meanwhile, where that ends for one of `reasons`."""
        last = self.block.instructions[-1:]
        try:
            yield
        except reasons:
            instructions = self.block.instructions
            while instructions and instructions[-1:] != last:
                del instructions[-1]
            raise

    def constant(self, value: Any) -> Value:
        """A Python float, int or bool."""
        result = Value(OF_PYTHON[type(value)])
        self.add(Constant(value, result))
        self.known[result] = value
        return result

    def zero(self, kind: Type) -> Value:
        """The zero of a type."""
        if isinstance(kind, ArrayType):
            return self.filled(kind, self.zero(kind.element))
        assert isinstance(kind, Scalar)
        return self.cast(self.constant(_ZEROS.get(kind, 0.0)), kind)

    def filled(self, kind: ArrayType, number: Value) -> Value:
        """An array with one number in all its places."""
        result = Value(kind)
        self.add(NewArray(number, result))
        return result

    def element(self, array: Value, place: Value) -> Value:
        """The element of an array at a place that it has, counted from 0, row by row."""
        assert isinstance(array.type, ArrayType)
        result = Value(array.type.element)
        self.add(Element(array, place, result))
        return result

    def put(self, array: Value, place: Value, number: Value) -> Value:
        """The array with another number at one of its places."""
        result = Value(array.type)
        self.add(Put(array, place, number, result))
        return result

    def cast(self, value: Value, kind: Scalar) -> Value:
        if value.type == kind:
            return value
        result = Value(kind)
        self.add(Cast(value, result))
        return result

    def operation(self, op: Op, operands: Sequence[Value], span: Span | None = None) -> Value:
        """An elementwise op on scalars. Ints become floats beside a float, and where the op gives
        floats; bools are ints to what counts."""
        chosen, values = ([operands[0]], operands[1:]) if op in CHOICES else ([], operands)
        kind = self._kind(op, [value.type for value in values])
        if (folded := self._folded(op, values)) is not None:
            return self.constant(folded)
        cast = [self.cast(value, kind) for value in values]
        result = Value(result_type(op, kind))
        self.add(Operation(op, (*chosen, *cast), result, span))
        if result.type == I64:
            self._origins[result] = values
        return result

    def sources(self, value: Value) -> set[Value]:
        """The values that an int has been computed from by operations alone, but for constants."""
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
        """What an op gives of known ints, if it is a bool or an int of 64 bits."""
        known = [self.known.get(value) for value in values]
        if op.name not in _ON_INTS or any(type(k) is not int for k in known):
            return None
        if op.name in ("floordiv", "mod") and known[1] == 0:
            return None
        found = _ON_INTS[op.name](*known)
        return found if -(2**63) <= found < 2**63 else None

    def apply(self, name: str, operands: Sequence[Value], span: Span | None = None) -> Value:
        """An entry of the table by its name."""
        return self.operation(OPS[name], operands, span)

    def _kind(self, op: Op, types: list[Type]) -> Scalar:
        """The type that an op computes with."""
        floats = [kind for kind in FLOATS if kind in types]
        if floats:
            return floats[0]
        if op.integers == "float" and op not in CHOICES:
            return F64
        keeps_bools = op in CHOICES or not op.counts_bools
        return BOOL if set(types) == {BOOL} and keeps_bools else I64

    def branch(self, condition: Value, then: Block, otherwise: Block) -> tuple[Value, ...]:
        """Adds a branch of two finished blocks."""
        results = tuple([Value(value.type) for value in then.results])
        self.add(Branch(condition, then, otherwise, results))
        return results
