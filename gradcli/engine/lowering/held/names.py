"""What names hold while a region is lowered: IR values, and things that are known without running.

Names live in frames, one for each call that is being inlined. The two sides of a branch, and the
iterations of a loop, begin with the same frames, so these are copied and put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ....diagnostics import Span
from ....lang import program
from ....ops.op import Op
from ....structs import Entity
from ...ir.instructions import Value


class NotCompiled(Exception):  # noqa: N818 - an answer, not an error
    """Why something is in no region, and where in the program it is: where lowering is, unless a
    span is given."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


class Fails(NotCompiled):
    """What surely is an error where it runs, such as an index that is out of range. A path that
    comes to it ends there: the region steps back."""


class UnknownInt(NotCompiled):
    """An int would have to be known. `parameters` are those of the region that it is computed from,
    if nothing else decides it; `arguments` are the arguments of the function that calls itself."""

    def __init__(
        self,
        value: Value,
        reason: str = "an int that isn't known here is not compiled",
        span: Span | None = None,
    ) -> None:
        super().__init__(reason, span)
        self.value = value
        self.parameters: set[int] = set()
        self.arguments: set[int] = set()


class Picks(NotCompiled):
    """An index picks one of few elements, or a condition one of two kinds. It would be known if the
    loops `nodes`, by identity, were lowered iteration by iteration."""

    def __init__(
        self,
        nodes: frozenset[int],
        reason: str = "an index that a loop counts picks one of few elements",
        span: Span | None = None,
    ) -> None:
        super().__init__(reason, span)
        self.nodes = nodes


class Unresolved(Exception):  # noqa: N818 - an answer, not an error
    """The result of a recursive call isn't known yet: other paths decide it."""


class Name(NamedTuple):
    """The place where a name lives."""

    frame: int
    slot: int


class Closure(Entity):
    """A function of the program, and the frame where it was made."""

    function: program.Function
    frame: int
    defaults: tuple[Name, ...]  # names that hold the default values of its parameters


class Transform(Entity):
    """A derivative of a function, as a function: by the arguments at the positions `wrt`. `listed`:
    whether the program gives these as a list."""

    kind: str
    function: Closure | Transform | Rows | Op
    wrt: tuple[int, ...]
    listed: bool


class Rows(Entity):
    """A function that is mapped over rows. `axes` are the axes of the rows of its arguments, or of
    all arguments; None for an argument that the rows share."""

    function: Closure | Transform | Rows | Op
    axes: Any


class Members(Entity):
    """An imported program, or an instance of a module: the frame of its names, their slots, and the
    variables that an instance lists, if these are known."""

    frame: int
    slots: dict[str, program.Slot]
    variables: tuple[Any, ...] | None = None


class Variable(Entity):
    """A variable whose state the program may change, in a name, a list or an argument. `state` is
    the name that holds the state. Gradients exist by a `trainable` one."""

    state: Name
    trainable: bool


class Unknown(Entity):
    """Something that is no value of the region: why, and where that was found. It would be known if
    the loops `nodes`, by identity, were lowered iteration by iteration."""

    reason: str
    span: Span | None
    nodes: frozenset[int] = frozenset()


class Absent:
    """What a name without a value holds."""


ABSENT = Absent()
# Slots of a frame for things that have no name:
RETURNED = -1  # the value of a `return` in a loop
STOPPED = -2  # whether a loop stopped before an iteration that isn't compiled
SEQUENCE = -3  # what a loop goes over, if that is no range
SEED = -4  # the seed of random numbers
DRAWS = -5  # the number of draws of random numbers so far


class Names:
    """What the names in the frames of a region hold. Names without a value aren't there."""

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
