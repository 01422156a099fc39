"""What programs over windows mean: a model to hold the engine against, as simple as it can be made.

It follows the language's description of tapes, and TensorFlow's of its GradientTape; nothing of the
engine is in it. Each tape has its own set of the operations that it recorded and its own set of
what it watches. A derivative is taken forwards, by the definition: that of an operation is the sum,
over its operands, of their derivatives times the partials. What it computes on the way are
operations too, and the tapes that record at that time record them: that is all there is to higher
orders.

Numbers are floats or vectors. Every operation is elementwise, so the gradient of the sum of a
vector is the derivative of each element by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class RefusedError(Exception):
    """The program fails, with this error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class UnspecifiedError(Exception):
    """The program asks for what the language leaves open."""


class Variable:
    """What has an identity whatever its value: "var", "frozen", or "watched", a plain name from its
    first watch on."""

    def __init__(self, name: str, kind: str, state: Any) -> None:
        self.name, self.kind, self.state = name, kind, state


class Value:
    """A number, with the operands that an operation made it of and its partial derivative by each,
    made when it is needed; or what was read of a variable."""

    def __init__(
        self,
        number: Any,
        terms: list[tuple[Value, Callable[[], Value]]] | None = None,
        of: Variable | None = None,
    ):
        self.number, self.terms, self.of = number, terms or [], of
        self.is_operand = False
        self.is_derived = False  # whether a derivative went into it
        self.passed: list[
            Tape
        ] = []  # of what is derived: the tapes that saw it made, whether or not they recorded it
        # whether it, or something that went into it, may have a derivative of zero or none
        self.is_doubtful = False

    def is_(self, other: Value | Variable) -> bool:
        return self is other or (
            self.of is not None and self.of is (other.of if isinstance(other, Value) else other)
        )


ONE = Value(1.0)


class Tape:
    """What one tape recorded and watches."""

    def __init__(self, automatic: bool = True, persistent: bool = True) -> None:
        self.automatic, self.persistent = automatic, persistent
        self.recording, self.asked = True, False
        self.recorded: dict[Value, list[bool]] = {}  # with the operands that it knew
        self.watched: set[Value | Variable] = set()
        self.used: list[Variable] = []
        self.torn: set[Value] = set()

    def watches(self, thing: Value | Variable) -> bool:
        variable = thing.of if isinstance(thing, Value) else thing
        return thing in self.watched or (
            variable is not None
            and (variable in self.watched or (self.automatic and variable.kind == "var"))
        )

    def knows(self, thing: Value | Variable) -> bool:
        """Whether derivatives by this exist here: it is watched, or an operation on the tape made
        it."""
        return self.watches(thing) or thing in self.recorded

    def reset(self) -> None:
        self.asked = False
        self.recorded.clear()
        self.watched.clear()
        self.used.clear()


class Machine:
    """The state of a program: its tapes, and what its names hold."""

    def __init__(self) -> None:
        self.main = Tape()
        self.open = [self.main]
        self.tapes = [self.main]  # all there ever were
        self.names: dict[str, Value | Variable] = {}
        self.deriving = False
        self.torn: set[Tape] = set()

    # ---- operations ------------------------------------------------------------------------------

    def operate(self, number: Any, *terms: tuple[Value, Callable[[], Value]]) -> Value:
        result = Value(number, list(terms))
        result.is_derived = self.deriving or any(operand.is_derived for operand, _ in terms)
        result.is_doubtful = any(operand.is_doubtful for operand, _ in terms)
        for operand, _ in terms:
            operand.is_operand = True
        for tape in self.open:
            if not tape.recording:
                continue
            known = [tape.knows(operand) for operand, _ in terms]
            if any(known):
                tape.recorded[result] = known
            if result.is_derived:
                result.passed.append(tape)
            if tape in self.torn or any(operand in tape.torn for operand, _ in terms):
                tape.torn.add(result)
            for operand, _ in terms:
                if (
                    operand.of
                    and tape.watches(operand)
                    and operand.of not in tape.used
                    and not self.deriving
                ):
                    tape.used.append(operand.of)
        return result

    def add(self, a: Value, b: Value) -> Value:
        return self.operate(a.number + b.number, (a, lambda: ONE), (b, lambda: ONE))

    def sub(self, a: Value, b: Value) -> Value:
        return self.operate(a.number - b.number, (a, lambda: ONE), (b, lambda: Value(-1.0)))

    def mul(self, a: Value, b: Value) -> Value:
        return self.operate(a.number * b.number, (a, lambda: b), (b, lambda: a))

    def neg(self, a: Value) -> Value:
        return self.operate(-a.number, (a, lambda: Value(-1.0)))

    def sin(self, a: Value) -> Value:
        return self.operate(np.sin(a.number), (a, lambda: self.cos(a)))

    def cos(self, a: Value) -> Value:
        return self.operate(np.cos(a.number), (a, lambda: self.neg(self.sin(a))))

    def square(self, a: Value) -> Value:
        return self.operate(a.number * a.number, (a, lambda: self.mul(Value(2.0), a)))

    def detach(self, a: Value) -> Value:
        return Value(a.number)

    # ---- names -----------------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        """What reading a name gives. A variable that no open tape watches is a plain number; `var`
        ones are the main tape's, always."""
        thing = self.names[name]
        if isinstance(thing, Value):
            return thing
        watched = thing.kind == "var" or any(thing in tape.watched for tape in self.open)
        return Value(thing.state, of=thing if watched else None)

    def target(self, name: str) -> Value:
        """What a gradient is asked of: a variable is one whatever watches it now."""
        thing = self.names[name]
        return thing if isinstance(thing, Value) else Value(thing.state, of=thing)

    def update(self, name: str, value: Value) -> None:
        thing = self.names[name]
        if not isinstance(thing, Variable) or thing.kind == "watched":
            raise RefusedError("E312")
        thing.state = value.number

    def watch(self, tape: Tape, name: str) -> None:
        """A name that holds a plain number holds something watched from now on; what a tape
        recorded is watched itself."""
        thing = self.names[name]
        if isinstance(thing, Value) and thing.of is not None:
            thing = thing.of
        if isinstance(thing, Value) and not any(thing in t.recorded for t in self.tapes):
            if thing.terms and (thing.is_operand or list(self.names.values()).count(thing) > 1):
                # Whether other uses of a number that no tape recorded, though it is made of
                # something watched, are watched with the name isn't said.
                raise UnspecifiedError
            thing = self.names[name] = Variable(name, "watched", thing.number)
        tape.watched.add(thing)

    # ---- tapes -----------------------------------------------------------------------------------

    @contextmanager
    def recorded_by(self, tape: Tape) -> Iterator[None]:
        self.open.append(tape)
        self.tapes.append(tape)
        yield
        tape.recording = False
        self.open.remove(tape)

    @contextmanager
    def paused(self, tapes: list[Tape]) -> Iterator[None]:
        before = [tape for tape in tapes if tape.recording]
        for tape in before:
            tape.recording = False
        yield
        for tape in before:
            tape.recording = True

    @contextmanager
    def tearing(self, tapes: set[Tape]) -> Iterator[None]:
        """The derivative of an operation that these tapes didn't record: of a partial derivative
        computed on one of them it sees some of the history, and how much depends on how the
        operation was made. What comes of that isn't said."""
        before, self.torn = self.torn, tapes
        yield
        self.torn = before

    # ---- derivatives -----------------------------------------------------------------------------

    def derivative(self, tape: Tape, target: Value, source: Value | Variable) -> Value | None:
        """How a value changes with a source, along what the tape recorded; None if it doesn't."""
        known: dict[Value, Value | None] = {}

        if (
            source in tape.torn
            or target.is_doubtful
            or (isinstance(source, Value) and source.is_doubtful)
        ):
            raise UnspecifiedError

        def by_source(value: Value) -> Value | None:
            if value.is_(source):
                return ONE
            if value in tape.torn:
                raise UnspecifiedError
            if value not in tape.recorded:
                return None
            if value not in known:
                total = None
                for (operand, partial), on_tape in zip(
                    value.terms, tape.recorded[value], strict=True
                ):
                    inner = by_source(operand) if on_tape else None
                    if inner is None:
                        continue
                    with self.tearing({t for t in self.open if value not in t.recorded}):
                        outer = partial()
                        term = inner if outer is ONE else self.mul(inner, outer)
                        total = term if total is None else self.add(total, term)
                known[value] = total
            return known[value]

        if not tape.knows(source):
            if isinstance(source, Value) and tape in source.passed:
                # A derivative that nothing watched changes: how it was computed decides whether the
                # tape has it.
                raise UnspecifiedError
            return None
        before, self.deriving = (
            self.deriving,
            True,
        )  # what it computes uses no variables, but what was read of them
        found = by_source(target)
        self.deriving = before
        return found

    def gradient(
        self,
        tape: Tape,
        targets: list[Value],
        sources: list[Value | Variable],
        seed: Value | None = None,
    ) -> list[Value | None]:
        """The gradients of the sum of the targets, each weighed by the seed."""
        found: list[Value | None] = []
        for source in sources:
            total = None
            for target in targets:
                term = self.derivative(tape, target, source)
                if term is not None and seed is not None:
                    term = seed if term is ONE else self.mul(seed, term)
                if term is not None:
                    total = term if total is None else self.add(total, term)
            found.append(total)
        return found

    @contextmanager
    def asked(self, tape: Tape) -> Iterator[None]:
        """A request to a tape that isn't the main one: it answers once unless it is persistent, and
        doesn't record what it computes itself unless it is persistent."""
        if tape.asked and not tape.persistent:
            raise RefusedError("E321")
        tape.asked = True
        with self.paused([] if tape.persistent else [tape]):
            yield
