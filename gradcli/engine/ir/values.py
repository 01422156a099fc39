"""Values of a region."""

from __future__ import annotations

from .types import Type


class Value:
    """A value of a region, of one type."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type
