"""What a value contains: the variables and instances in it, and the value without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..backends.backend import is_inexact, shape_of
from .boxes import primal
from .kinds import Instance, List, Members, Namespace, Variable, deeper, read, show
from .lanes import Lanes


def plain(value: Any, depth: int = 0) -> Any:
    """The value without variables and traces, through lists and dicts: lists become Python lists,
    an instance the dict of the states of its own variables, by path."""
    value = primal(read(value))
    if type(value) is List:
        depth = deeper(depth)
        return [plain(item, depth) for item in value]
    if type(value) is dict:
        depth = deeper(depth)
        return {key: plain(item, depth) for key, item in value.items()}
    if type(value) is Instance:
        own = f"{value.path}."
        return {
            v.name.removeprefix(own): plain(v)
            for _, v in variables(value)
            if v.name.startswith(own)
        }
    return value


def snapshot(value: Any) -> Any:
    """The value as it is now, whatever becomes of its arrays. A value that exists only in the
    program becomes text."""
    return _copied(plain(value))


def _copied(value: Any) -> Any:
    if type(value) is list:
        return [_copied(item) for item in value]
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    return value.copy() if hasattr(value, "dtype") else show(value)


_HOLDERS = frozenset((Variable, Instance, Namespace, List, dict))


def variables(value: Any) -> Iterator[tuple[str, Variable]]:
    """The variables in a value, each once, in order of declaration, with the path that leads to it
    (`.w`, `[0].w`)."""
    return ((path, part) for path, part in contents(value, "") if type(part) is Variable)


def contents(value: Any, path: str) -> Iterator[tuple[str, Variable | Instance]]:
    """The `var` and `frozen` variables and the instances in a value, each once, in order: through
    instances, imports, lists and dicts, whichever nest in which. `path` is the value's own; what is
    in it comes with the path that leads to it."""
    seen: set[int] = set()
    pending = [(path, value)]
    while pending:
        path, value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is Instance or (type(value) is Variable and value.kind in ("var", "frozen")):
            yield path, value
        if type(value) is List:
            inside = [
                (f"{path}[{k}]", item) for k, item in enumerate(value) if type(item) in _HOLDERS
            ]
        elif type(value) is dict:
            inside = [
                (f"{path}.{key}", item) for key, item in value.items() if type(item) in _HOLDERS
            ]
        elif isinstance(value, Members):
            inside = [
                (f"{path}.{name}", item) for name, item in value.members() if type(item) in _HOLDERS
            ]
        else:
            continue
        pending.extend(reversed(inside))


def is_finite(value: Any) -> bool:
    """Returns whether a number, or every element of one or several arrays, is finite; true for what
    is no float.
    """
    if type(value) is float:
        return value - value == 0.0
    if type(value) is list:
        return all(map(is_finite, value))
    if not is_inexact(value):
        return True
    value = value.array if type(value) is Lanes else value
    if not shape_of(value):
        return bool(value - value == 0)
    total = value.sum()  # three times as fast as testing each; an overflow is inconclusive
    return bool(total - total == 0) or bool((value - value == 0).all())
