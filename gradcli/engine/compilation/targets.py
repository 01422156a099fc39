"""Targets of assignments: how a value gets into a name, an element, or several of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ...lang import program
from ..operations.access import GETITEM, member, read_index
from ..operations.iteration import iterate
from ..operations.rows.separation import separate_running_rows
from ..operations.writing import SETITEM, replace, write
from ..trace.tape import Site
from ..values.boxes import primal
from ..values.kinds import FRAME_HEAD, UNSET, Variable, describe, read
from .compiler import Closure, Compiler
from .indexing import compile_items

Setter: TypeAlias = Callable[[list[Any], Any], None]


def compile_target(c: Compiler, target: program.Target) -> Setter:
    """The closure `(frame, value)` that assigns a value to a target."""
    if isinstance(target, program.NameTarget):
        return _compile_name(c, target)
    if isinstance(target, program.EntryTarget):
        return compile_entry_write(c, target)
    setters = [compile_target(c, item) for item in target.items]

    def unpack(frame: list[Any], value: Any) -> None:
        items = list(iterate(frame[0], value, target.span))
        if len(items) != len(setters):
            frame[0].fail(
                "E315",
                f"{len(items)} values for {len(setters)} names",
                target.span,
                f"the right side is {describe(value)}",
            )
        for setter, item in zip(setters, items, strict=True):
            setter(frame, item)

    return unpack


def _compile_name(c: Compiler, target: program.NameTarget) -> Setter:
    k = target.slot.index + FRAME_HEAD
    cell = target.slot.cell
    path = c.path(target.slot)
    span = target.span
    if target.slot.index not in c.declared:

        def assign_plain(frame: list[Any], value: Any) -> None:
            if cell:
                frame[k][0] = value
            else:
                frame[k] = value

        return assign_plain

    def assign(frame: list[Any], value: Any) -> None:
        holder, at = (frame[k], 0) if cell else (frame, k)
        old = holder[at]
        if type(old) is Variable and old is not value and old.name == path(frame):
            separate_running_rows(frame[0])
            frame[0].replaced.setdefault(old.name, (old, span))
            value = read(value) if type(value) is Variable and value.kind == "const" else value
        holder[at] = value

    return assign


def compile_entry_write(
    c: Compiler, target: program.EntryTarget
) -> Callable[[list[Any], Any], None]:
    """The closure `(frame, value)` of `a[i] = v`, `d.k = v` or `l[i].k = v` on a local name, which
    replaces the entry."""
    k, cell = target.slot.index + FRAME_HEAD, target.slot.cell
    steps = [step if isinstance(step, str) else compile_items(c, step) for step in target.path]
    site, name = Site(SETITEM, target.span), target.slot.name
    is_parameter = target.slot.index in c.parameters

    def assign(frame: list[Any], value: Any) -> None:
        path = [step if isinstance(step, str) else step(frame) for step in steps]
        holder, at = (frame[k], 0) if cell else (frame, k)
        root = holder[at]
        if root is UNSET:
            frame[0].fail(
                "E307",
                f"`{name}` has no value yet",
                target.span,
                help=f"assign `{name}` before its elements",
            )
        if is_parameter:
            # the function's own from here on; the variable that was passed keeps its state
            root = read(root)
        array, origin = (root[0], root[1:]) if type(root) is tuple else (root, None)
        if len(path) == 1 and hasattr(primal(array), "ndim"):
            holder[at] = UNSET
            del root  # from here on `array` is the only name for it, unless somebody else holds it
            try:
                holder[at] = write(frame[0], site, array, origin, path[0], value)  # type: ignore[arg-type]
            except BaseException:
                holder[at] = array if origin is None else (array, *origin)
                raise
        else:
            holder[at] = UNSET
            del array
            try:
                holder[at] = replace(frame[0], site, root, path, value, name)
            except BaseException:
                holder[at] = root
                raise

    return assign


def compile_entry_read(c: Compiler, target: program.EntryTarget) -> Closure:
    """The closure of the entry that an augmented assignment starts from."""
    k, cell = target.slot.index + FRAME_HEAD, target.slot.cell
    steps = [step if isinstance(step, str) else compile_items(c, step) for step in target.path]
    site = Site(GETITEM, target.span)

    def read_entry(frame: list[Any]) -> Any:
        value = frame[k][0] if cell else frame[k]
        if value is UNSET:
            frame[0].fail("E307", f"`{target.slot.name}` has no value yet", target.span)
        for step in steps:
            if isinstance(step, str):
                value = member(frame[0], value, step, target.span)
            else:
                value = read_index(frame[0], site, value, step(frame))
        return value

    return read_entry
