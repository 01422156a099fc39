"""Derivatives of inlined functions: `grad(f)` as one more inlined function, to any order.

A function is inlined with fresh operands in place of its arguments, its formula is differentiated
by these, and the arguments are then substituted for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...lang import program
from ...ops.formula import Formula
from ..formulas.compound import as_derivative, as_float
from ..formulas.differentiation import ONE, differentiate, pushed, substitute

Value = Formula | list[Formula]
Callee = Callable[
    [list[Formula], dict[str, Value]], Value
]  # of the arguments, and of those by keyword


MAX_NODES = 600  # of a formula: writing the function of a longer one takes long


class NotInlinedError(Exception):
    """A call can't be inlined, because it does more than elementwise operations on numbers."""


class Inliner:
    """The state of inlining a call.

    operands  the expressions of its frame that it starts from; None for what a derivative is taken
              by
    order     of the derivatives that were inlined so far
    """

    def __init__(self) -> None:
        self.operands: list[program.Expression | None] = []
        self.order = 0
        self._nodes = 0

    def count(self) -> None:
        """Counts a node or call. Raises NotInlinedError where there are too many."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise NotInlinedError

    def operand(self, node: program.Expression | None) -> Formula:
        if node is not None:
            for k, seen in enumerate(self.operands):
                if seen is node:
                    return Formula("operand", k)
        self.operands.append(node)
        return Formula("operand", len(self.operands) - 1)

    def numbered(self) -> tuple[list[program.Expression], dict[int | str, Formula]]:
        """The operands without those that derivatives were taken by; and what stands for each, by
        index."""
        kept = [(k, operand) for k, operand in enumerate(self.operands) if operand is not None]
        return [operand for _, operand in kept], {
            k: Formula("operand", j) for j, (k, _) in enumerate(kept)
        }


class _Called(NamedTuple):
    """The formula of a function's value, with fresh operands for the arguments that it is
    differentiated by, and for vectors; a vector of 1 is ONE. `places`: what replaces each
    operand."""

    value: Formula
    by: list[Formula]
    vectors: list[Formula]
    places: dict[int | str, Formula]

    def partials(self, seed: Formula = ONE) -> list[Formula]:
        """The shares of the arguments in a cotangent of the value."""
        found = differentiate(self.value, len(self.places), seed)
        return [substitute(found[operand.value], self.places) for operand in self.by]


def _called(
    inliner: Inliner,
    function: Callee,
    positions: list[int],
    arguments: list[Formula],
    vectors: Sequence[Formula] = (),
) -> _Called:
    """Inlines a call of a function that is differentiated by the arguments at the positions."""
    if max(positions) >= len(arguments) or any(is_int(arguments[k]) for k in positions):
        raise NotInlinedError
    by = {k: inliner.operand(None) for k in positions}
    given = [ONE if _is_one(vector) else inliner.operand(None) for vector in vectors]
    before, inliner.order = inliner.order, 0
    try:
        value = function([by.get(k, argument) for k, argument in enumerate(arguments)], {})
    finally:
        inliner.order = max(before, inliner.order + 1)
        n = len(inliner.operands)
        places: dict[int | str, Formula] = {k: Formula("operand", k) for k in range(n)}
        places.update({operand.value: arguments[k] for k, operand in by.items()})
        stand = zip(given, vectors, strict=True)
        places.update({operand.value: v for operand, v in stand if operand is not ONE})
    if isinstance(value, list) or is_int(value) or sum(1 for _ in value) > MAX_NODES:
        raise NotInlinedError
    return _Called(value, list(by.values()), given, places)


def _grad(inliner: Inliner, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        if keywords:
            raise NotInlinedError
        partials = _called(inliner, function, positions, arguments).partials()
        return [as_derivative(p) for p in partials] if listed else as_derivative(partials[0])

    return call


def _value_and_grad(
    inliner: Inliner, function: Callee, positions: list[int], listed: bool
) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        if keywords or listed:
            raise NotInlinedError
        called = _called(inliner, function, positions, arguments)
        (partial,) = called.partials()
        return [substitute(called.value, called.places), as_derivative(partial)]

    return call


def _vjp(inliner: Inliner, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        arguments, u = _apart(arguments, keywords, "u", positions, listed)
        if isinstance(u, list):
            raise NotInlinedError
        called = _called(inliner, function, positions, arguments, [u])
        shares = [_new(share, [u]) for share in called.partials(*called.vectors)]
        return shares if listed else shares[0]

    return call


def _value_and_jvp(
    inliner: Inliner, function: Callee, positions: list[int], listed: bool
) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        arguments, vector = _apart(arguments, keywords, "v", positions, listed)
        vectors = vector if isinstance(vector, list) else [vector]
        if len(vectors) != len(positions) or isinstance(vector, list) != listed:
            raise NotInlinedError
        called = _called(inliner, function, positions, arguments, vectors)
        tangents = {by.value: v for by, v in zip(called.by, called.vectors, strict=True)}
        tangent = substitute(pushed(called.value, tangents), called.places)
        value = substitute(called.value, called.places)
        return [value, _new(tangent, vectors)]

    return call


def _jvp(inliner: Inliner, function: Callee, positions: list[int], listed: bool) -> Callee:
    both = _value_and_jvp(inliner, function, positions, listed)

    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        _, tangent = both(arguments, keywords)
        return tangent

    return call


def _apart(
    arguments: list[Formula],
    keywords: dict[str, Value],
    name: str,
    positions: list[int],
    listed: bool,
) -> tuple[list[Formula], Value]:
    """The arguments, and the vector, which is the second of them or comes by its keyword. It is of
    floats."""
    if keywords.keys() == {name}:
        vector = keywords[name]
        return arguments, [*map(as_float, vector)] if isinstance(vector, list) else as_float(vector)
    if keywords or listed or positions != [0] or len(arguments) < 2:
        raise NotInlinedError
    return [arguments[0], *arguments[2:]], as_float(arguments[1])


def _new(derivative: Formula, given: list[Formula]) -> Formula:
    """Marks a formula as a derivative, unless it is one of the given vectors."""
    return (
        derivative if any(derivative is vector for vector in given) else as_derivative(derivative)
    )


def _is_one(vector: Formula) -> bool:
    return vector.kind == "number" and bool(vector.value == 1)


DERIVATIVES = {
    "grad": _grad,
    "value_and_grad": _value_and_grad,
    "vjp": _vjp,
    "jvp": _jvp,
    "value_and_jvp": _value_and_jvp,
}


def is_int(formula: Formula) -> bool:
    """Whether a formula is a known int, for which operations on ints apply."""
    return formula.kind == "number" and type(formula.value) is int
