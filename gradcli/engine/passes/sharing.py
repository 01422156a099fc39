"""What straight code computes twice is computed once."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.instructions import (
    Affine,
    Block,
    Cast,
    Constant,
    Element,
    Instruction,
    Operation,
    Value,
)
from .copying import rebuilt


def share(body: Block) -> None:
    """Computes once what a body computes twice."""
    known: dict[object, Value] = {}
    names: dict[Value, Value] = {}
    kept: list[Instruction] = []
    for made in body.instructions:
        operands = tuple([names.get(value, value) for value in made.operands])
        made = rebuilt(made, operands, made.results)
        key = key_of(made)
        if key is not None and key in known:
            names[made.results[0]] = known[key]
            continue
        if key is not None:
            known[key] = made.results[0]
        kept.append(made)
    body.instructions = kept
    body.results = tuple([names.get(value, value) for value in body.results])


def key_of(made: Instruction) -> object:
    """What is the same for instructions that give the same; None for those that do more."""
    if isinstance(made, Operation):
        return (made.op.name, made.operands)
    if isinstance(made, Constant):
        return ("constant", made.result.type, repr(made.value))
    if isinstance(made, Cast):
        return ("cast", made.result.type, made.operands)
    if isinstance(made, Affine):
        return ("place", made.operands, made.steps, made.offset)
    return ("element", made.operands) if isinstance(made, Element) else None


def place_key(place: Value | None, places: Mapping[Value, object]) -> object:
    """What is the same for places that are the same: `places` are the affine ones."""
    return place if place is None else places.get(place, place)
