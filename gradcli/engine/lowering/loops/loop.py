"""A loop that is being lowered, and an iteration of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....lang import program
from ...ir.instructions import Block, Value
from ..held.counters import counter_of
from ..held.names import Name
from ..held.ranges import Over


class Iteration(NamedTuple):
    """An iteration lowered for a loop. `carried` is what the loop's names hold before it, in the
    parameters of its block; `given` what they hold after it, behind whether the loop goes on if it
    can be left."""

    block: Block
    number: Value
    carried: list[Any]
    given: tuple[Any, ...]


class Loop(NamedTuple):
    """A loop whose iterations aren't lowered yet.

    names           those that it carries
    range           what a `for` goes over, or a `while` that counts; None for any other `while`
    leaves          whether it can be left early
    short           whether it can be lowered iteration by iteration
    peeled          whether its first iteration stands before it
    limit           the number of iterations after which a `while` stops, if there is one
    independent     names that never hold anything that depends on a variable
    last_condition  the condition, if it draws: then each iteration ends with it
    """

    node: program.While | program.For
    range: Over | None
    names: list[Name]
    leaves: bool
    short: bool = False
    peeled: bool = False
    limit: Value | None = None
    independent: frozenset[Name] = frozenset()
    last_condition: Any = None

    @property
    def target(self) -> Any:
        """What is assigned the items of its range."""
        if isinstance(self.node, program.For):
            return self.node.target
        counter = counter_of(self.node)
        assert counter is not None
        return counter.target

    @property
    def counts(self) -> bool:
        """Whether a loop with a condition carries the number of the iteration."""
        return self.range is not None or self.limit is not None
