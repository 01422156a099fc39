"""Lists of many numbers in IR: one value, as an array is.

A list is put in memory where a program changes it at an index that isn't known. Its numbers are
those of a list: a number of another type, or a row of another length, doesn't fit into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....diagnostics import Span
from ...ir.instructions import Value
from ...ir.types import ArrayType, Scalar
from ..held.columns import array_type, in_memory
from ..held.kinds import Stored, StoredOf, kind_of
from ..held.names import NotCompiled
from .arrays import MAX_ELEMENTS
from .dicts import Dicts, Key
from .parts import Step

# One step to the target of an assignment: a key, or an index in brackets.
Path = Key | Sequence[Step]


class LongLists(Dicts):
    """The lowering of changes of lists of many numbers.

    puts_lists_in_memory  whether it puts lists of numbers in memory
    """

    puts_lists_in_memory = False

    def part(self, held: Any, steps: Sequence[Step], span: Span) -> Any:
        raise NotImplementedError

    def together(self, held: Any, path: Sequence[Path]) -> Sequence[Path]:
        """A path, with the ints in brackets one after another in one: `m[i][j]` of an array or a
        list in memory is `m[i, j]`."""
        ints, rows = _leading_ints(path)
        if not isinstance(held, Stored) or not ints or len(ints) > len(held.shape):
            return path
        return [ints, *path[rows:]]

    def changed_in_memory(self, held: Any, path: Sequence[Path], value: Any) -> Any:
        """A list that is about to be changed at a path, in memory if it has many numbers and
        nothing tells where it changes."""
        ints, rows = _leading_ints(path)
        if not self.puts_lists_in_memory or type(held) is not tuple or rows < len(path):
            return held
        kind = array_type(kind_of(held))
        if kind is None or kind.size <= MAX_ELEMENTS or len(ints) > len(kind.shape):
            return held
        is_known = all(step in self.builder.known for step in ints)
        if is_known or not fits(value, kind.element, kind.shape[len(ints) :]):
            return held
        return in_memory(self.builder, held, kind)

    def list_with(self, held: Stored, steps: Sequence[Step], value: Any, span: Span) -> Stored:
        """A list of many numbers with another number, or other numbers, at some ints."""
        is_at_ints = all(isinstance(step, Value) for step in steps)
        if not is_at_ints or not fits(value, held.type.element, held.shape[len(steps) :]):
            raise NotCompiled("this change of a list of many numbers is not compiled", span)
        put = self.stacked(value, span) if type(value) is tuple else value
        return Stored(self.stored_with(held, steps, put, span).value, listed=True)


def _leading_ints(path: Sequence[Path]) -> tuple[list[Step], int]:
    """The ints with which a path begins, and how many of its steps these are."""
    ints: list[Step] = []
    for k, step in enumerate(path):
        if isinstance(step, Key) or not all(isinstance(each, Value) for each in step):
            return ints, k
        ints += step
    return ints, len(path)


def fits(value: Any, element: Scalar, shape: tuple[int, ...]) -> bool:
    """Whether a value is a number of a type, or lists of such numbers of a shape."""
    kind = kind_of(value)
    if not shape:
        return kind == element
    found = kind.type if isinstance(kind, StoredOf) and kind.listed else array_type(kind)
    return found == ArrayType(element, shape)
