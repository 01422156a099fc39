"""What a function with loops does, in parts: steps, branches, loops and exits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from ...lang import program
from ...ops.formula import Formula
from ..formulas.reading import returned_operands


class Step(NamedTuple):
    """New values for the numbers `targets`, all from what the numbers were before."""

    targets: tuple[int, ...]
    formulas: tuple[Formula, ...]


class Branch(NamedTuple):
    condition: Formula
    then: list[Part]
    otherwise: list[Part]


class Loop(NamedTuple):
    """Turns while the condition holds; or, with a `counter`, one for each int that the `bounds` of
    a range say."""

    condition: Formula
    counter: int | None
    bounds: tuple[Formula, ...]
    body: list[Part]


class Exit(NamedTuple):
    """`break` or `continue`; "return", of what the step before made the result; "raise" where
    nothing is returned."""

    word: str


Part: TypeAlias = "Step | Branch | Loop | Exit"


class Looped(NamedTuple):
    """A function with loops, as it is called at a place: numbers are told apart by index, formulas
    have them as operands.

    operands    the expressions of the frame that the call starts from, with their numbers
    begin       what the function's parameters are, of these
    parameters  the numbers that are the parameters
    vector      the number of what a derivative is weighed by, or taken along, which `begin` sets
                too; None for none
    result      the number that is what it returns
    size        how many numbers there are
    """

    operands: list[tuple[int, program.Expression]]
    begin: Step
    parameters: list[int]
    vector: int | None
    result: int
    size: int
    body: list[Part]


def unchanged_sources(looped: Looped, targets: Iterable[int]) -> set[int]:
    """The numbers that the body may assign unchanged to one of the targets, directly or through
    others."""
    steps: list[Step] = []
    list_parts(looped.body, steps, set())
    found, reached = set[int](), set(targets)
    while (
        more := {
            k
            for step in steps
            for t, f in zip(*step, strict=True)
            if t in reached
            for k in returned_operands(f)
        }
        - found
    ):
        found |= more
        reached |= more
    return found


def list_parts(parts: list[Part], steps: list[Step], counters: set[int]) -> None:
    """Lists the steps in parts, and the numbers that count turns."""
    for part in parts:
        if isinstance(part, Step):
            steps.append(part)
        elif isinstance(part, Branch):
            list_parts(part.then, steps, counters)
            list_parts(part.otherwise, steps, counters)
        elif isinstance(part, Loop):
            counters.update([] if part.counter is None else [part.counter])
            list_parts(part.body, steps, counters)
