"""What the nodes of both trees are: dataclasses with slots, which share `==`, `hash` and `repr`.

Type checkers take nodes for frozen. At run time they aren't: a hundred classes are made at every
start, and `frozen=True` would make each take three times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

_Class = TypeVar("_Class", bound=type)


class Tree:
    """What all nodes have in common. `FIELDS` are the names of a node's fields, but for where it
    stands."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def _compared(self) -> tuple[Any, ...]:
        return tuple([getattr(self, f.name) for f in fields(self) if f.compare])  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash((type(self), self._compared()))

    def __repr__(self) -> str:
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(cls: _Class) -> _Class:
    """Makes a subclass of `Tree` a node."""
    made: Any = dataclass(slots=True, eq=False, repr=False)(cls)
    made.FIELDS = tuple([f.name for f in fields(made) if f.name not in ("span", "depth")])
    return made  # type: ignore[no-any-return]
