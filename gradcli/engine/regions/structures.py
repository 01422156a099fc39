"""Held values with lists in them: as one row of scalars, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ir.instructions import Value


def flat(held: Any) -> Iterator[Value]:
    """The scalars of a held value, in order."""
    if type(held) is tuple:
        for item in held:
            yield from flat(item)
    else:
        yield held


def rebuilt(held: Any, values: Iterator[Value]) -> Any:
    """A held value of the same structure, of the next of these scalars."""
    return tuple([rebuilt(item, values) for item in held]) if type(held) is tuple else next(values)


def in_new_values(held: Any) -> Any:
    """A held value of the same structure and types, of values that nothing defines yet."""
    return rebuilt(held, iter([Value(value.type) for value in flat(held)]))


def same_structure(a: Any, b: Any) -> bool:
    """Whether two held values are lists of the same lengths, and of the same types."""
    if type(a) is tuple or type(b) is tuple:
        return (
            type(a) is tuple
            and type(b) is tuple
            and len(a) == len(b)
            and all(same_structure(x, y) for x, y in zip(a, b, strict=True))
        )
    return bool(a.type == b.type)
