"""Values of a region, and what instructions have in common that give them."""

from __future__ import annotations

from typing import ClassVar

from ...structs import Entity
from .types import ArrayType, Type


class Value:
    """A value of a region, of one type."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type

    @property
    def array_type(self) -> ArrayType:
        """The type of what is an array."""
        assert isinstance(self.type, ArrayType)
        return self.type


class BaseInstruction(Entity, frozen=False):
    """An instruction says which of its fields hold its operands, its results and the blocks inside
    it. A name with a star is that of a field with several; such a one comes last."""

    TAKES: ClassVar[tuple[str, ...]] = ()
    GIVES: ClassVar[tuple[str, ...]] = ("result",)
    INSIDE: ClassVar[tuple[str, ...]] = ()
    KEPT: ClassVar[tuple[str, ...]] = ()  # the other fields

    def __init_subclass__(cls) -> None:
        values = {name.removeprefix("*") for name in (*cls.TAKES, *cls.GIVES, *cls.INSIDE)}
        cls.KEPT = tuple([name for name in cls.NAMES if name not in values])

    @property
    def operands(self) -> tuple[Value, ...]:
        return self._values(self.TAKES)

    @property
    def results(self) -> tuple[Value, ...]:
        return self._values(self.GIVES)

    def _values(self, names: tuple[str, ...]) -> tuple[Value, ...]:
        found: tuple[Value, ...] = ()
        for name in names:
            if name[0] == "*":
                found += getattr(self, name[1:])
            else:
                found += (getattr(self, name),)
        return found
