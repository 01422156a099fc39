"""Building IR: operations get the types, and the casts, that the interpreter gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...diagnostics import Span
from ...ops import OPS
from ...ops.op import Op
from .instructions import Block, Branch, Cast, Constant, Instruction, Operation, Value
from .types import BOOL, F64, FLOATS, I64, Scalar, Type
from .verifier import WHERE, result_type

NEG = OPS["neg"]
_TYPES: dict[type, Scalar] = {float: F64, int: I64, bool: BOOL}


class Builder:
    """Adds instructions to the innermost open block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: dict[Value, Any] = {}  # the constants

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

    def constant(self, value: Any) -> Value:
        """A Python float, int or bool."""
        result = Value(_TYPES[type(value)])
        self.add(Constant(value, result))
        self.known[result] = value
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
        chosen, values = ([operands[0]], operands[1:]) if op is WHERE else ([], operands)
        kind = self._kind(op, [value.type for value in values])
        if op is NEG and type(self.known.get(values[0])) is int:
            return self.constant(-self.known[values[0]])
        cast = [self.cast(value, kind) for value in values]
        result = Value(result_type(op, kind))
        self.add(Operation(op, (*chosen, *cast), result, span))
        return result

    def apply(self, name: str, operands: Sequence[Value], span: Span | None = None) -> Value:
        """An entry of the table by its name."""
        return self.operation(OPS[name], operands, span)

    def _kind(self, op: Op, types: list[Type]) -> Scalar:
        """The type that an op computes with."""
        floats = [kind for kind in FLOATS if kind in types]
        if floats:
            return floats[0]
        if op.integers == "float" and op is not WHERE:
            return F64
        keeps_bools = op is WHERE or not op.counts_bools
        return BOOL if set(types) == {BOOL} and keeps_bools else I64

    def branch(self, condition: Value, then: Block, otherwise: Block) -> tuple[Value, ...]:
        """Adds a branch of two finished blocks."""
        results = tuple([Value(value.type) for value in then.results])
        self.add(Branch(condition, then, otherwise, results))
        return results
