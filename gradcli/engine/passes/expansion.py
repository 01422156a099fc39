"""Expansion of derivative rules. While a region may still be differentiated, each rule is one
operation; this pass writes the operations out that it is made of. It also writes out linear algebra
on small matrices, and sorts of few elements."""

from __future__ import annotations

from typing import Any

from ...ops.rule_values import evaluate
from ..ir.builder import Builder
from ..ir.instructions import (
    Block,
    Instruction,
    Operation,
    Region,
    Structural,
    Value,
)
from ..ir.types import Scalar
from .arrays.small_matrices import SmallMatrices
from .arrays.written_entries import Lookups, Picking, Sorting, Writer
from .copying import with_blocks, with_result
from .rules import NoRule

_WRITERS: dict[str, type[Writer]] = {
    name: writer for writer in (SmallMatrices, Lookups, Picking, Sorting) for name in writer.entries
}


def expand(region: Region) -> Region:
    """The region, with operations of the table alone."""
    return Region(region.name, _expanded(region.block))


def _expanded(block: Block) -> Block:
    instructions: list[Instruction] = []
    for made in block.instructions:
        if isinstance(made, Operation):
            instructions += _parts(made) if made.op.composed else [made]
        elif isinstance(made, Structural):
            writer = _WRITERS.get(made.op.name)
            instructions += (writer and writer(made.results[0].type).written(made)) or [made]
        else:
            instructions.append(with_blocks(made, _expanded))
    return Block(block.parameters, instructions, block.results)


def _parts(made: Operation) -> list[Instruction]:
    """The operations of a rule, the last of which gives its result. They compute in floats; numbers
    of the rule take the type of the floats that they meet."""
    builder, forward, kind = Builder(own := Block()), made.op.forward, made.result.type

    def lifted(value: Any) -> Value:
        if isinstance(value, Value):
            return value
        if isinstance(value, complex):
            raise NoRule("complex numbers are not compiled")
        return builder.constant(value if isinstance(value, bool) else float(value))

    def call(name: str, values: list[Any]) -> Value:
        values = list(map(lifted, values))
        # A real number is its own conjugate.
        return values[0] if name == "conj" else builder.apply(name, values)

    assert forward is not None
    assert isinstance(kind, Scalar)
    found = builder.cast(lifted(evaluate(forward, made.operands, call)), kind)
    return with_result(own.instructions, found, made.result)
