"""Sets that remember the order in which they grew, so that the branches of a program can be
compared.

A branch starts with `mark`; at its end `rewind` takes out, and returns, what the branch added. The
cost is that of the additions, whatever the size of the set: a program of many branches takes linear
time.
"""

from __future__ import annotations


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
