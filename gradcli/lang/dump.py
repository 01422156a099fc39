"""Trees as indented listings, for `--show ast` and `--show program`: one node a line, with its
plain fields beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diagnostics import Source, Span
from ..ops.op import Op
from .program import Slot
from .tree import Tree

_HIDDEN = frozenset(["spans", "name_span", "source", "text", "bare"])
# levels; deeper ones stay at this indentation, so that a long chain gives a listing of linear size
_MAX_INDENT = 60


def dump(tree: Any) -> str:
    """The listing of a syntax tree or a resolved program. It keeps its own stack: the depth doesn't
    matter."""
    return "\n".join(_lines(tree))


def _lines(tree: Any) -> Iterator[str]:
    pending: list[tuple[int, str, Any]] = [(0, "", tree)]
    while pending:
        level, label, value = pending.pop()
        prefix = "  " * min(level, _MAX_INDENT) + (f"{label}: " if label else "")
        if isinstance(value, tuple | list):
            if label or not value:
                yield prefix.rstrip() if value else prefix + "[]"
            pending.extend((level + 1, "", item) for item in reversed(value))
            continue
        if isinstance(value, dict):
            yield prefix + ", ".join(f"{key} → {_plain(item)}" for key, item in value.items())
            continue
        if _is_plain(value):
            yield prefix + _plain(value)
            continue
        plain: list[str] = []
        nested: list[tuple[int, str, Any]] = []
        for name in value.FIELDS:
            item = getattr(value, name)
            if name in _HIDDEN or item is None or item == ():
                continue
            if _is_plain(item) or (isinstance(item, tuple) and all(map(_is_plain, item))):
                plain.append(f"{name}={_plain(item)}")
            else:
                nested.append((level + 1, name, item))
        yield prefix + " ".join([type(value).__name__, *plain])
        pending.extend(reversed(nested))


def _is_plain(value: Any) -> bool:
    return isinstance(value, Op | Slot | Span | Source) or not (
        isinstance(value, Tree | tuple | list | dict)
    )


def _plain(value: Any) -> str:
    if isinstance(value, Op):
        return value.name
    if isinstance(value, Slot):
        return f"{value.name}@{value.index}" + ("*" if value.cell else "")
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    return "..." if value is ... else repr(value)
