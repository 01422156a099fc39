"""What names hold while a region is lowered: values of the IR, and what is known without running.

Names live in frames, one for each call that is being inlined. The two sides of a branch and the
iterations of a loop begin with the same frames, so these are copied and put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...lang import program
from ...ops.op import Op
from ...structs import Entity
from ..ir.instructions import Value


class NotCompiled(Exception):  # noqa: N818 - an answer, not an error
    """Why something is in no region, and where it stands."""

    def __init__(self, reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


class UnknownInt(NotCompiled):
    """An int would have to be known. `parameters` are those of the region that it is computed from,
    where nothing else decides it; `arguments` are those of the function that calls itself."""

    def __init__(
        self,
        span: Span | None,
        value: Value,
        reason: str = "an int that isn't known here is not compiled",
    ) -> None:
        super().__init__(reason, span)
        self.value = value
        self.parameters: set[int] = set()
        self.arguments: set[int] = set()


class Picks(NotCompiled):
    """An index picks one of few elements, and is known where some loops, `nodes` by identity, are
    lowered iteration by iteration."""

    def __init__(self, span: Span | None, nodes: frozenset[int]) -> None:
        super().__init__("an index that a loop counts picks one of few elements", span)
        self.nodes = nodes


class Unresolved(Exception):  # noqa: N818 - an answer, not an error
    """What a recursive call gives isn't known yet: other paths say it."""


class Name(NamedTuple):
    """Where a name lives."""

    frame: int
    slot: int


class Closure(Entity):
    """A function of the program, and the frame that it was made in."""

    function: program.Function
    frame: int
    defaults: tuple[Name, ...]  # of its parameters: where they are held, if there are any


class Transform(Entity):
    """A derivative of a function, as a function: by the arguments at the positions `wrt`, which are
    a list in the program, or one."""

    kind: str
    function: Closure | Transform | Rows | Op
    wrt: tuple[int, ...]
    listed: bool


class Rows(Entity):
    """A function that is mapped over rows: `axes` are those of its arguments, or of all; None for
    what the rows share."""

    function: Closure | Transform | Rows | Op
    axes: Any


class Members(Entity):
    """An imported program, or an instance of a module: the frame that its names live in, their
    slots, and the variables that an instance lists, where these are known."""

    frame: int
    slots: dict[str, program.Slot]
    variables: tuple[Any, ...] | None = None


class Variable(Entity):
    """A variable whose state the program may change, wherever it is held: in a name, in a list, as
    an argument. `state` is where the state is. Gradients exist by a `trainable` one."""

    state: Name
    trainable: bool


class Unknown(Entity):
    """What isn't a value of the region: why, and where that was found."""

    reason: str
    span: Span | None


class Absent:
    """What a name holds that has no value."""


ABSENT = Absent()
RETURNED = -1  # the slot of what a `return` in a loop gives
STOPPED = -2  # the slot of whether a loop stopped before an iteration that isn't compiled
SEQUENCE = -3  # the slot of what a loop goes over that is no range
SEED = -4  # the slot of the seed of random numbers
DRAWS = -5  # the slot of how many times random numbers have been drawn


class Names:
    """The frames of a region that is being lowered. A name that has no value isn't there."""

    def __init__(self) -> None:
        self.held: dict[Name, Any] = {}
        self.frames = 0

    def new_frame(self) -> int:
        self.frames += 1
        return self.frames

    def hidden(self, held: Any) -> Name:
        """A new name for what is held, which no program mentions."""
        name = Name(self.new_frame(), 0)
        self.put([name], [held])
        return name

    def of(self, names: Iterable[Name]) -> tuple[Any, ...]:
        """What each of some names holds."""
        return tuple([self.held.get(name, ABSENT) for name in names])

    def put(self, names: Sequence[Name], held: Iterable[Any]) -> None:
        for name, each in zip(names, held, strict=True):
            if each is ABSENT:
                self.held.pop(name, None)
            else:
                self.held[name] = each
