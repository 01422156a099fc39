"""Common subexpressions: what straight code computes twice is computed once."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.instructions import (
    Affine,
    Block,
    Cast,
    Constant,
    Each,
    Element,
    Instruction,
    Operation,
    Product,
    Structural,
    Value,
)
from .copying import rebuilt, renamed


def share(body: Block) -> None:
    """Lets a body compute nothing twice."""
    known: dict[object, Value] = {}
    names: dict[Value, Value] = {}
    kept: list[Instruction] = []
    for made in body.instructions:
        made = rebuilt(made, renamed(made.operands, names), made.results)
        key = key_of(made)
        if key is not None and key in known:
            names[made.results[0]] = known[key]
            continue
        if key is not None:
            known[key] = made.results[0]
        kept.append(made)
    body.instructions = kept
    body.results = renamed(body.results, names)


def key_of(made: Instruction) -> tuple[object, ...] | None:
    """A key for an instruction: equal for equal results. None for instructions without one."""
    if isinstance(made, Operation):
        return (made.op, made.operands)
    if isinstance(made, Constant):
        return ("constant", made.result.type, repr(made.value))
    if isinstance(made, Cast):
        return ("cast", made.result.type, made.operands)
    if isinstance(made, Affine):
        return ("place", made.operands, made.steps, made.offset)
    return ("element", made.operands) if isinstance(made, Element) else None


def arrays_key(made: Instruction, start: Callable[[Value], object]) -> object:
    """A key for an `each`, a product or an op on whole arrays: equal for those that compute equal
    arrays. None for other instructions. `start` gives a key for a first value of an `each`."""
    if isinstance(made, Product):
        return ("product", made.operands, made.sizes, made.transposed)
    if isinstance(made, Structural):
        return (made.op, made.operands, repr(made.options))
    if not isinstance(made, Each):
        return None
    names: dict[Value, object] = {v: k for k, v in enumerate(made.body.parameters)}
    body = []
    for inner in made.body.instructions:
        key = key_of(inner)
        if key is None:
            return None
        operands = tuple([names.get(value, value) for value in inner.operands])
        kind, *rest = key
        body.append((kind, *[operands if part == inner.operands else part for part in rest]))
        names[inner.results[0]] = len(names)
    given = tuple([names.get(value, value) for value in made.body.results])
    return (made.shape, made.ways, tuple(map(start, made.initial)), tuple(body), given)
