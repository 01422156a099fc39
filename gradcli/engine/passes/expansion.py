"""Derivative rules as the operations that they are made of: what is to be differentiated again has
each rule as one operation."""

from __future__ import annotations

from ..formulas.reading import forward_formula
from ..ir.builder import Builder
from ..ir.instructions import Block, Cast, Constant, Instruction, Operation, Region, blocks_of
from .copying import rebuilt
from .rules import evaluate


def expand(region: Region) -> Region:
    """The region of operations of the table alone."""
    return Region(region.name, _expanded(region.block))


def _expanded(block: Block) -> Block:
    instructions: list[Instruction] = []
    for made in block.instructions:
        if isinstance(made, Operation):
            instructions += _parts(made) if made.op.composed else [made]
        else:
            inner = [_expanded(each) for each in blocks_of(made)]
            instructions.append(rebuilt(made, made.operands, made.results, inner))
    return Block(block.parameters, instructions, block.results)


def _parts(made: Operation) -> list[Instruction]:
    """The operations of a rule, the last of which gives its result."""
    own = Block()
    found = evaluate(Builder(own), forward_formula(made.op), made.operands, made.result)
    [last] = [part for part in own.instructions if found in part.results]
    assert isinstance(last, Operation | Constant | Cast)
    last.result = made.result
    return own.instructions
