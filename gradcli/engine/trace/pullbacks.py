"""Derivatives that a record holds itself, in place of a rule of the table."""

from __future__ import annotations

from typing import Any, NamedTuple

from .run import Run
from .tape import Site


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

    def pull(self, sweep: Any, record: Passed) -> None:
        """Adds the shares of the record's inputs in its cotangent, in a `Sweep` (`ad/sweep.py`)."""
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
