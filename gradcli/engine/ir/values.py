"""Values of a region, and the base class of instructions."""

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
        """The type of a value that is an array."""
        assert isinstance(self.type, ArrayType)
        return self.type


class BaseInstruction(Entity, frozen=False):
    """The base of instructions, which name those of their fields that hold operands, results and
    blocks. A name with a star, always the last one, is that of a field with several."""

    TAKES: ClassVar[tuple[str, ...]] = ()
    GIVES: ClassVar[tuple[str, ...]] = ("result",)
    INSIDE: ClassVar[tuple[str, ...]] = ()
    KEPT: ClassVar[tuple[str, ...]] = ()  # the other fields
    # For each field: its name, what it holds (0 operands, 1 results, 2 blocks), and the positions.
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
    """A function that reads the values in fields of an instruction. It is fast: each pass reads
    thousands."""
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
