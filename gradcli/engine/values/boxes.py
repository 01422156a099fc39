"""Boxes: what a value is wrapped in while it is differentiated, and how to take it out.

A transform opens a *level*: a number that grows, so that what is opened inside is always higher. A
value has at most one box a level, the highest outside. A reverse level's box is a traced value, the
tuple `(primal, number, segment)` of `tape.py`, whose trace has the level; a forward level's is a
`Dual`. An operation peels the highest level of its operands and does the rest one level down
(`apply.py`). So a perturbation of one level is never taken for one of another.
"""

from __future__ import annotations

from typing import Any


class Dual:
    """A primal and its tangent, of the same shape and dtype, at a forward level. Both may be boxed
    at lower levels."""

    __slots__ = ("level", "primal", "tangent")

    def __init__(self, primal: Any, tangent: Any, level: int) -> None:
        self.primal, self.tangent, self.level = primal, tangent, level

    def __repr__(self) -> str:
        return f"<{self.primal} along {self.tangent} at level {self.level}>"


def primal(value: Any) -> Any:
    """Takes all boxes off a value."""
    while True:
        if type(value) is tuple:
            value = value[0]
        elif type(value) is Dual:
            value = value.primal
        else:
            return value


UNBOXED = -1


def level_of(value: Any) -> int:
    """The level of the outermost box; `UNBOXED` for none. The main trace is level 0."""
    if type(value) is tuple:
        level: int = value[2].trace.level
        return level
    return value.level if type(value) is Dual else UNBOXED


def lowered(value: Any, level: int) -> Any:
    """Takes the box of `level` off a value, if it has one."""
    if level_of(value) != level:
        return value
    return value[0] if type(value) is tuple else value.primal


def up_to(value: Any, level: int) -> Any:
    """Takes the boxes above `level` off a value."""
    while level_of(value) > level:
        value = value[0] if type(value) is tuple else value.primal
    return value


def depth_of(value: Any) -> int:
    """How many derivatives are computed through a value: for each of its boxes those that its trace
    records, or one that is pushed forward."""
    depth = 0
    while (level := level_of(value)) != UNBOXED:
        depth += value[2].trace.depth if type(value) is tuple else 1
        value = lowered(value, level)
    return depth


def levels_of(value: Any) -> list[int]:
    """The levels of all boxes of a value, the outermost first."""
    found = []
    while (level := level_of(value)) != UNBOXED:
        found.append(level)
        value = lowered(value, level)
    return found


def is_of(value: Any, kind: type) -> bool:
    """Whether a value and its tangents are of a type, and operations on it are recorded."""
    if type(value) is tuple:
        return value[2].trace.segment is not None and is_of(value[0], kind)
    if type(value) is Dual:
        return is_of(value.primal, kind) and is_of(value.tangent, kind)
    return type(value) is kind
