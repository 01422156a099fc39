"""Iterations of a loop that a kernel runs, and how it ended."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ..ir.types import ArrayType
from .frame_entries import number_type

Items: TypeAlias = range | list[Any]


class Ran(NamedTuple):
    """Iterations that a kernel ran: how the loop ended, if it did with one of them; how many they
    were; and whether the interpreter must run the next one."""

    completion: int | None
    iterations: int
    stopped: bool


def over_of(items: Items) -> int | ArrayType | None:
    """The step of a range, or the type of the numbers in a list; None where these have none."""
    if type(items) is range:
        return items.step
    kind = number_type(items)
    return None if kind is None else ArrayType(kind, (len(items),))
