"""Derivative rules as the operations that they are made of: what is to be differentiated again has
each rule as one operation."""

from __future__ import annotations

from ..formulas.reading import forward_formula
from ..ir.builder import Builder
from ..ir.instructions import Block, Cast, Constant, Instruction, Operation, Region, blocks_of
from .copying import copied
from .rules import evaluate


def expand(region: Region) -> Region:
    """The region of operations of the table alone."""
    block = copied(region.block, {})
    _expand(block)
    return Region(region.name, block)


def _expand(block: Block) -> None:
    instructions: list[Instruction] = []
    for made in block.instructions:
        for inner in blocks_of(made):
            _expand(inner)
        instructions += _parts(made) if isinstance(made, Operation) and made.op.composed else [made]
    block.instructions = instructions


def _parts(made: Operation) -> list[Instruction]:
    """The operations of a rule, the last of which gives its result."""
    own = Block()
    found = evaluate(Builder(own), forward_formula(made.op), made.operands, made.result)
    [last] = [part for part in own.instructions if found in part.results]
    assert isinstance(last, Operation | Constant | Cast)
    last.result = made.result
    return own.instructions
