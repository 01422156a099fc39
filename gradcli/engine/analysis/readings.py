"""Calls read as formulas: what `f(x, y)` computes, or `grad(f)(x)`, where that can be known without
running it.

It can where a name is bound to one function for good (`inlining.py`), and that computes its value
from numbers by elementwise operations, one statement after the other, and turn by turn in loops
(`read_loops.py`). A derivative of such a function is that of its formula, and a formula again
(`read_derivatives.py`). A hot expression (`fusion.py`) takes what is read as one operation; what
can't be read is called. Where there are branches, each path through them is a reading of its own
(`branches.py`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from ...diagnostics import Span
from ...lang import program
from ...ops.formula import Formula
from ...ops.op import Op
from ..formulas.compound import compound
from ..formulas.differentiation import substitute
from .frames import Body, Frame
from .inlining import Known
from .read_derivatives import MAX_NODES, NotPlainError, Reader, Value

READ = "reading"  # the name of the ops that readings become
HIGHER = "higher derivatives"  # the category of those that take derivatives of derivatives


class Reading(NamedTuple):
    """A call as formulas of the `operands`, which are expressions of the frame: of one number, or
    of a list of them. `order`: of the derivatives that it takes, 0 for none."""

    formulas: list[Formula]
    listed: bool
    operands: list[program.Expression]
    order: int

    def ops(self) -> list[Op]:
        """The formulas as operations on all of the operands: what a formula doesn't read, the
        function may."""
        if any(sum(1 for _ in formula) > MAX_NODES for formula in self.formulas):
            raise NotPlainError
        n = len(self.operands)
        category = HIGHER if self.order > 1 else ""
        return [compound(READ, formula, n, category) for formula in self.formulas]


class Path(NamedTuple):
    """One way through the branches of a call: the conditions met, and whether each held; and what
    the call gives then, None where that can't be read."""

    conditions: list[Formula]
    outcomes: list[bool]
    reading: Reading | None


def read_call(node: program.Call, known: dict[int, Known]) -> Reading:
    """The call as formulas. Raises NotPlainError where it can't be read; BranchError if at least up
    to a branch it can."""
    reader = Reader(branches=False)
    value = Frame(reader, known, node.span).call(node)
    return _reading(reader, value)


def obstacle(node: program.Expression, known: dict[int, Known]) -> type[NotPlainError] | None:
    """What the reading of a call comes to where it can't go on: BranchError, TripCountError, or
    NotPlainError for all else; None for what can be read, or isn't examined."""
    if isinstance(node, program.Call) and is_readable(node, known):
        try:
            read_call(node, known)
        except NotPlainError as error:
            return type(error)
    return None


def read_paths(node: program.Call, known: dict[int, Known], most: int) -> list[Path]:
    """The paths through the call, and of each two that part the one first on which the condition
    holds. All have the same operands. Raises NotPlainError where there are more than `most`."""
    reader = Reader(branches=True)
    frame = Frame(reader, known, node.span)
    found: list[tuple[list[Formula], list[bool], Value | None]] = []
    outcomes: list[bool] = []
    while True:
        if len(found) == most:
            raise NotPlainError
        reader.follow(outcomes)
        value = None
        with suppress(NotPlainError):
            value = frame.call(node)
        outcomes = outcomes[: len(reader.conditions)]
        found.append((reader.conditions, outcomes, value))
        held = [k for k, holds in enumerate(outcomes) if holds]
        if not held:
            break
        outcomes = [*outcomes[: held[-1]], False]
    _, places = reader.numbered()
    return [
        Path(
            [substitute(c, places) for c in conditions],
            held,
            None if value is None else _reading(reader, value),
        )
        for conditions, held, value in found
    ]


def _reading(reader: Reader, value: Value) -> Reading:
    operands, places = reader.numbered()
    formulas = [substitute(v, places) for v in (value if isinstance(value, list) else [value])]
    return Reading(formulas, isinstance(value, list), operands, reader.order)


def read_body(body: tuple[program.Statement, ...], known: dict[int, Known], span: Span) -> Reading:
    """What a function's body returns as a formula of the names that it reads. Raises NotPlainError
    where it can't be read."""
    reader = Reader(branches=False)
    value = Body(reader, known, span).returned(body)
    if value is None:
        raise NotPlainError
    return _reading(reader, value)


def is_readable(node: program.Expression, known: dict[int, Known]) -> bool:
    """Whether it is a call of something that may be read; only what is called is examined."""
    if not isinstance(node, program.Call):
        return False
    callee = node.callee
    if isinstance(callee, program.Read):
        return not callee.checked and callee.slot.index in known
    return isinstance(callee, program.Apply) and callee.op.transforms
