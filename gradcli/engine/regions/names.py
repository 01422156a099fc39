"""What names hold while a region is lowered: values of the IR, and what is known without running.

Names live in frames, one for each call that is being inlined. The two sides of a branch and the
iterations of a loop begin with the same frames, so these are copied and put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...diagnostics import Span
from ...lang import program
from ..ir.instructions import Value


class NotCompiled(Exception):  # noqa: N818 - an answer, not an error
    """Why something is in no region, and where it stands."""

    def __init__(self, reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


MISSING: Any = object()


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """A function of the program, and the frame that it was made in."""

    function: program.Function
    frame: int
    defaults: tuple[Any, ...]  # of its parameters; `MISSING` for one without


@dataclass(frozen=True, eq=False, slots=True)
class Unknown:
    """What isn't a value of the region: why, and where that was found."""

    reason: str
    span: Span | None


class Name(NamedTuple):
    """Where a name lives."""

    frame: int
    slot: int


class Names:
    """The frames of a region that is being lowered. A name that holds nothing isn't there."""

    def __init__(self) -> None:
        self.held: dict[Name, Any] = {}
        self.frames = 0

    def new_frame(self) -> int:
        self.frames += 1
        return self.frames

    def changed(self, before: dict[Name, Any]) -> Iterator[Name]:
        """The names that hold something else than they did, in order of first appearance."""
        for name in {**before, **self.held}:
            if self.held.get(name) is not before.get(name):
                yield name


def is_value(held: Any) -> bool:
    """Whether a name holds a value of the IR, or a list of these."""
    return isinstance(held, Value) or (type(held) is tuple and all(map(is_value, held)))
