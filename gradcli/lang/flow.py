"""What is known at a point of a program, and sets that remember the order in which they grew, so
that the branches of a program can be compared.

A branch starts with `mark`; at its end `rewind` takes out, and returns, what the branch added. The
cost is that of the additions, whatever the size of the set: a program of many branches takes linear
time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .scopes import Scope


class Journal:
    """A set with a history."""

    __slots__ = ("_members", "_order")

    def __init__(self) -> None:
        self._members: set[str] = set()
        self._order: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def add(self, name: str) -> None:
        if name not in self._members:
            self._members.add(name)
            self._order.append(name)

    def mark(self) -> int:
        return len(self._order)

    def rewind(self, mark: int) -> list[str]:
        """Takes out what was added since `mark`, and returns it."""
        added = self._order[mark:]
        del self._order[mark:]
        self._members.difference_update(added)
        return added


@dataclass(slots=True, eq=False)
class Frame:
    """What is known at the point that the resolver has reached in a function, in a module, or at
    the top level."""

    scope: Scope
    parent: Frame | None = None
    kind: Literal["program", "function", "module"] = "program"
    assigned: Journal = field(default_factory=Journal)  # names that surely have a value here
    assigned_outside: frozenset[str] = (
        frozenset()
    )  # captured names that had one when the function was made
    declared: Journal = field(
        default_factory=Journal
    )  # names that `var`, `frozen` or `const` declared
    loops: int = 0
    loop_end: int = -1  # where the outermost loop around ends

    def is_assigned(self, name: str) -> bool:
        if name in self.scope.bindings:
            return name in self.assigned
        return (
            name in self.assigned_outside or self.scope.local(name) is not None
        )  # the function itself
