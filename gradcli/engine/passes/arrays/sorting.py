"""Sorting few elements by exchanging neighbours. The code of the table takes microseconds to be
called, and a kernel on rows doesn't call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...ir.instructions import Value
from ...ir.types import BOOL, ArrayType, Type
from .writing import Writer

MOST = 8  # elements


class Sorting(Writer):
    """Writes entries that sort an array of one axis. Equal elements keep their order, and nan comes
    last."""

    def takes(self, kinds: Sequence[Type]) -> bool:
        [kind] = kinds
        is_few = isinstance(kind, ArrayType) and len(kind.shape) == 1 and kind.size <= MOST
        return is_few and kind.element != BOOL  # type: ignore[union-attr]

    def sort(self, x: Value, axis: int | None) -> Value | None:
        if axis is None:  # NumPy's sort isn't stable here: 0 and -0 come in an order of its own
            return None
        return self.array([number for number, _ in self.ordered(x)])

    def argsort(self, x: Value, axis: int | None) -> Value:
        return self.array([place for _, place in self.ordered(x)])

    def ordered(self, x: Value) -> list[list[Value]]:
        """The elements in ascending order, each with its place in the array."""
        places = [self.number(k) for k in range(x.array_type.size)]
        rows = [[self.builder.element(x, place), place] for place in places]
        for last in range(1, len(rows)):
            for k in range(last, 0, -1):
                (a, _), (b, _) = rows[k - 1 : k + 1]
                is_number = self.op("eq", b, b)
                is_first = self.op("where", self.op("le", a, b), self.number(False), is_number)
                rows[k - 1], rows[k] = self.swapped(is_first, rows[k - 1], rows[k])
        return rows

    entries: ClassVar[dict[str, Callable[..., Any]]] = {"sort": sort, "argsort": argsort}
