"""Derivatives of functions that are read as formulas: `grad(f)` as one more such function, to any
order.

They are taken of what the function gives for fresh operands in the place of its arguments, which
then stand where these did, in the conditions of the path that it took too.
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


class NotPlainError(Exception):
    """What was to be read isn't made of operations on numbers alone."""


class BranchError(NotPlainError):
    """It is, as far as a branch; and only what has none was to be read."""


class Reader:
    """How far a call was read, along one path through it.

    operands    the expressions of its frame that it starts from; None for what a derivative is
                taken by
    conditions  of the branches that were taken, in order
    outcomes    how they turn out, beyond which the next one holds; None where there may be no
                branch
    order       of the derivatives that were read so far
    chooses     whether what `a if c else b` chooses from is part of the formula, rather than a
                branch
    """

    def __init__(self, branches: bool, chooses: bool = False) -> None:
        self.chooses = chooses
        self.operands: list[program.Expression | None] = []
        self.conditions: list[Formula] = []
        self.outcomes: list[bool] | None = [] if branches else None
        self.order = 0
        self._nodes = 0

    def follow(self, outcomes: list[bool]) -> None:
        """Begins again, along another path; the operands stay."""
        self.conditions, self.outcomes, self._nodes = [], outcomes, 0

    def count(self) -> None:
        """Counts a node or call. Raises NotPlainError where there are too many."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise NotPlainError

    def operand(self, node: program.Expression | None) -> Formula:
        if node is not None:
            for k, seen in enumerate(self.operands):
                if seen is node:
                    return Formula("operand", k)
        self.operands.append(node)
        return Formula("operand", len(self.operands) - 1)

    def decide(self, condition: Formula) -> bool:
        """Whether a condition holds on this path."""
        if self.outcomes is None:
            raise BranchError
        if len(self.outcomes) == len(self.conditions):
            self.outcomes.append(True)
        self.conditions.append(condition)
        return self.outcomes[len(self.conditions) - 1]

    def numbered(self) -> tuple[list[program.Expression], dict[int | str, Formula]]:
        """The operands without those that derivatives were taken by; and what stands for each, by
        index."""
        kept = [(k, operand) for k, operand in enumerate(self.operands) if operand is not None]
        return [operand for _, operand in kept], {
            k: Formula("operand", j) for j, (k, _) in enumerate(kept)
        }


class _Called(NamedTuple):
    """What a function gives, and which of its operands stand for the arguments that it is
    differentiated by and for vectors; a vector of 1 is ONE. `places`: what all stand for."""

    value: Formula
    by: list[Formula]
    vectors: list[Formula]
    places: dict[int | str, Formula]

    def partials(self, seed: Formula = ONE) -> list[Formula]:
        """The shares of the arguments in a cotangent of the value."""
        found = differentiate(self.value, len(self.places), seed)
        return [substitute(found[operand.value], self.places) for operand in self.by]


def _called(
    reader: Reader,
    function: Callee,
    positions: list[int],
    arguments: list[Formula],
    vectors: Sequence[Formula] = (),
) -> _Called:
    """A call of a function that is differentiated by the arguments at the positions."""
    if max(positions) >= len(arguments) or any(is_int(arguments[k]) for k in positions):
        raise NotPlainError
    by = {k: reader.operand(None) for k in positions}
    given = [ONE if _is_one(vector) else reader.operand(None) for vector in vectors]
    decided, before, reader.order = len(reader.conditions), reader.order, 0
    try:
        value = function([by.get(k, argument) for k, argument in enumerate(arguments)], {})
    finally:
        reader.order = max(before, reader.order + 1)
        n = len(reader.operands)
        places: dict[int | str, Formula] = {k: Formula("operand", k) for k in range(n)}
        places.update({operand.value: arguments[k] for k, operand in by.items()})
        stand = zip(given, vectors, strict=True)
        places.update({operand.value: v for operand, v in stand if operand is not ONE})
        reader.conditions[decided:] = [
            substitute(condition, places) for condition in reader.conditions[decided:]
        ]
    if isinstance(value, list) or is_int(value) or sum(1 for _ in value) > MAX_NODES:
        raise NotPlainError
    return _Called(value, list(by.values()), given, places)


def _grad(reader: Reader, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        if keywords:
            raise NotPlainError
        partials = _called(reader, function, positions, arguments).partials()
        return [as_derivative(p) for p in partials] if listed else as_derivative(partials[0])

    return call


def _value_and_grad(reader: Reader, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        if keywords or listed:
            raise NotPlainError
        called = _called(reader, function, positions, arguments)
        (partial,) = called.partials()
        return [substitute(called.value, called.places), as_derivative(partial)]

    return call


def _vjp(reader: Reader, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        arguments, u = _apart(arguments, keywords, "u", positions, listed)
        if isinstance(u, list):
            raise NotPlainError
        called = _called(reader, function, positions, arguments, [u])
        shares = [_new(share, [u]) for share in called.partials(*called.vectors)]
        return shares if listed else shares[0]

    return call


def _value_and_jvp(reader: Reader, function: Callee, positions: list[int], listed: bool) -> Callee:
    def call(arguments: list[Formula], keywords: dict[str, Value]) -> Value:
        arguments, vector = _apart(arguments, keywords, "v", positions, listed)
        vectors = vector if isinstance(vector, list) else [vector]
        if len(vectors) != len(positions) or isinstance(vector, list) != listed:
            raise NotPlainError
        called = _called(reader, function, positions, arguments, vectors)
        tangents = {by.value: v for by, v in zip(called.by, called.vectors, strict=True)}
        tangent = substitute(pushed(called.value, tangents), called.places)
        value = substitute(called.value, called.places)
        return [value, _new(tangent, vectors)]

    return call


def _jvp(reader: Reader, function: Callee, positions: list[int], listed: bool) -> Callee:
    both = _value_and_jvp(reader, function, positions, listed)

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
        raise NotPlainError
    return [arguments[0], *arguments[2:]], as_float(arguments[1])


def _new(derivative: Formula, given: list[Formula]) -> Formula:
    """A derivative as one, but for a vector that came through as it was given."""
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
    """Whether it is a number that ints have operations of their own for."""
    return formula.kind == "number" and type(formula.value) is int
