"""Whether what a region does depends on some of its values: on which path it goes, how often its
loops run, which elements it reads and writes."""

from __future__ import annotations

from ..ir.instructions import (
    Block,
    Branch,
    Call,
    Each,
    Element,
    For,
    Instruction,
    Operation,
    Put,
    Structural,
    Value,
    While,
    blocks_of,
    every,
)
from ..ir.scalars import CHOOSE
from ..ir.types import I64


def decides(block: Block, values: set[Value]) -> bool:
    """Whether the path of a block, or a place in an array, may depend on some values. What the
    regions that it calls do may."""
    found, size = set(values), -1
    while len(found) > size:  # until nothing is added
        size = len(found)
        _block(block, found)
    return any(_decided(made, found) for made in every(block))


def _decided(made: Instruction, found: set[Value]) -> bool:
    if isinstance(made, Branch):
        return made.condition in found
    if isinstance(made, While):
        return not found.isdisjoint(made.condition.results)
    if isinstance(made, For):
        return made.count in found
    if isinstance(made, Element | Put) and made.place in found:
        return True
    if isinstance(made, Structural) and not found.isdisjoint(made.operands):
        return not (made.op.linear or made.op.multilinear or made.op.category == "linear algebra")
    chooses = isinstance(made, Operation) and made.op is CHOOSE
    if chooses and made.operands[0] in found:
        return True
    # An int may be a place or a number of iterations in what isn't seen here.
    calls = isinstance(made, Call) and not found.isdisjoint(made.operands)
    return calls or any(value.type == I64 and value in found for value in made.results)


def _block(block: Block, found: set[Value]) -> None:
    """Adds what follows from the values that are found."""
    for made in block.instructions:
        for inner in blocks_of(made):
            _block(inner, found)
        if isinstance(made, Branch):
            _given(made.then.results, made.results, found)
            _given(made.otherwise.results, made.results, found)
        elif isinstance(made, While | For):
            _given(made.initial, made.carried, found)
            _given(made.body.results, made.carried, found)
            _given(made.carried, made.results, found)
            if isinstance(made, While):
                _given(made.carried, made.condition.parameters, found)
        elif isinstance(made, Each):
            _given(made.initial, made.results, found)
            _given(tuple([number for number, _ in made.given]), made.results, found)
        elif not found.isdisjoint(made.operands):
            found.update(made.results)


def _given(values: tuple[Value, ...], to: tuple[Value, ...], found: set[Value]) -> None:
    found.update([b for a, b in zip(values, to, strict=True) if a in found])
