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


def numbered(made: Each, numbers: dict[object, int]) -> dict[Value, object]:
    """Keys for what the body of an `each` computes: equal for equal values at a point, also of
    another `each`. Those that have no key are left out. `numbers` are those of keys so far."""
    found: dict[Value, object] = {v: f"index {k}" for k, v in enumerate(made.body.parameters)}
    for inner in made.body.instructions:
        key = key_of(inner)
        if key is not None:
            operands = tuple([found.get(value, value) for value in inner.operands])
            key = tuple([operands if part == inner.operands else part for part in key])
            found[inner.results[0]] = numbers.setdefault(key, len(numbers))
    return found


class KnownArrays:
    """The arrays of a block, by keys that are equal for equal arrays. `start` gives such a key for
    a first value of an `each`."""

    def __init__(self, start: Callable[[Value], object]) -> None:
        self._start = start
        self._numbers: dict[object, int] = {}
        self._known: dict[object, Value] = {}

    def known(self, made: Instruction) -> dict[Value, Value]:
        """The results of an instruction that are known, as an earlier one computes equal ones. The
        others are known from now on."""
        found: dict[Value, Value] = {}
        for value, key in zip(made.results, self._keys(made), strict=False):
            other = self._known.setdefault(key, value)
            if other is not value:
                found[value] = other
        return found

    def _keys(self, made: Instruction) -> list[object]:
        """A key for each result of an `each`, a product or an op on whole arrays."""
        key: tuple[object, ...]
        if isinstance(made, Product):
            key = ("product", made.operands, made.sizes, made.transposed)
        elif isinstance(made, Structural):
            key = (made.op, made.operands, repr(made.options))
        elif isinstance(made, Each) and all(map(key_of, made.body.instructions)):
            keys = numbered(made, self._numbers)
            return [
                (
                    made.shape,
                    way,
                    self._start(first),
                    *[keys.get(v, v) for v in given if v is not None],
                )
                for way, first, given in zip(made.ways, made.initial, made.given, strict=True)
            ]
        else:
            return []
        return [(*key, k) for k, _ in enumerate(made.results)]
