"""Derivatives that a record holds itself, in place of a rule of the table, and the interface of the
sweep that they use."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..values.lanes import Group
from .run import Run
from .tape import Segment, Site


class ReverseSweep(Protocol):
    """A sweep, as pullbacks see it.

    run, segment   where it is: the run, and the segment of the record
    marked         the numbers that depend on what is asked for; None for all
    bodies         whether it goes through the bodies of functions that have a rule of their own
    recorded       whether what it computes is recorded, to be differentiated again
    risks          whether a product of it may have lost a nan or an infinity
    repairs        whether products with 0 are exactly 0
    """

    run: Run
    segment: Segment
    marked: set[int] | None
    bodies: bool
    recorded: bool
    risks: bool
    repairs: bool

    def add(self, n: int, c: Any, fresh: bool = False) -> None:
        """Adds a share to the cotangent of the value `n`; `fresh` where nobody else holds its
        array."""

    def lift(self, c: Any, outer: Group | None) -> Any:
        """A cotangent by the rows of `outer`."""

    def from_rows(self, c: Any, group: Group | None, operand: Any) -> Any:
        """A share of the rows of `group` alone, as the operand has it."""


class Passed(NamedTuple):
    """A record that a sweep passes: its number, its place, the primals of its operands, the numbers
    of its inputs, the cotangent of its result, and what it kept of that."""

    number: int
    site: Site
    operands: Any
    inputs: tuple[int, ...]
    g: Any
    y: Any


class Pullback:
    """The options of a record that takes its cotangent to its inputs itself."""

    __slots__ = ()

    def pull(self, sweep: ReverseSweep, record: Passed) -> None:
        """Adds the shares of the record's inputs in its cotangent."""
        raise NotImplementedError


class Linearized(Pullback):
    """The options of a record that also takes tangents from its inputs to its results."""

    __slots__ = ()

    @property
    def code(self) -> Any:
        """All that `reads` depends on beside shapes."""
        return None

    def reads(self, result: int, operand: int) -> tuple[Any, Any] | None:
        """The elements of a result and those of an operand on which they depend: all pairs, in two
        arrays. None where each may depend on all."""
        return None

    def pushes(self, operands: tuple[int, ...]) -> bool:
        """Whether there are tangents along these operands."""
        raise NotImplementedError

    def push(self, run: Run, site: Site, along: list[Any]) -> list[Any]:
        """The tangents of the results for those of the inputs; None for one that nothing moves.
        Raises MemoryError."""
        raise NotImplementedError
