"""What the nodes of both trees are: records, most of which have a place in the text."""

from __future__ import annotations

from typing import Any, ClassVar

from ..structs import Struct


class Tree(Struct):
    """What all nodes have in common. `FIELDS` are the names of a node's fields, but for where it
    stands."""

    FIELDS: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        cls.FIELDS = tuple([name for name in cls.SPECS if name not in ("span", "depth")])
