"""Values of a region, and what instructions have in common that give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

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
    # Of each field: its name, which of operands, results and blocks it holds, and which of these.
    PLACES: ClassVar[tuple[tuple[str, int, int | slice], ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.PLACES = tuple(
            [
                (name.removeprefix("*"), part, slice(k, None) if name[0] == "*" else k)
                for part, names in enumerate((cls.TAKES, cls.GIVES, cls.INSIDE))
                for k, name in enumerate(names)
            ]
        )
        cls.KEPT = tuple([n for n in cls.NAMES if n not in {name for name, _, _ in cls.PLACES}])
        for name, fields in (("operands", cls.TAKES), ("results", cls.GIVES)):
            if name not in cls.NAMES:
                setattr(cls, name, property(_reader(fields)))

    if TYPE_CHECKING:

        @property
        def operands(self) -> tuple[Value, ...]: ...

        @property
        def results(self) -> tuple[Value, ...]: ...


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Value, ...]]:
    """What gives the values in fields of an instruction, quickly: each pass reads thousands."""
    if not names:
        return lambda made: ()
    *others, last = names
    found: Callable[[Any], Any] = attrgetter(*[name.removeprefix("*") for name in names])
    if last[0] != "*":
        return found if others else lambda made: (found(made),)
    if not others:
        return found

    def read(made: Any) -> tuple[Value, ...]:
        *one, several = found(made)
        return (*one, *several)

    return read
