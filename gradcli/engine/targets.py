"""Targets of assignments: how a value gets into a name, an element, or several of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..lang import program
from . import writing
from .by_rows import part_off
from .compiler import Compiler
from .iteration import iterate
from .values import FRAME_HEAD, Variable, describe, read

Setter: TypeAlias = Callable[[list[Any], Any], None]


def compile_target(c: Compiler, target: program.Target) -> Setter:
    """How a value gets into a target: `(frame, value)`."""
    if isinstance(target, program.NameTarget):
        return _compile_name(c, target)
    if isinstance(target, program.EntryTarget):
        return writing.compile_entry_write(c, target)
    setters = [compile_target(c, item) for item in target.items]

    def unpack(frame: list[Any], value: Any) -> None:
        items = list(iterate(frame[0], value, target.span))
        if len(items) != len(setters):
            frame[0].fail(
                "E315", f"{len(items)} values for {len(setters)} names", target.span, f"the right side is {describe(value)}"
            )
        for setter, item in zip(setters, items, strict=True):
            setter(frame, item)

    return unpack


def _compile_name(c: Compiler, target: program.NameTarget) -> Setter:
    k, cell, path, span = target.slot.index + FRAME_HEAD, target.slot.cell, c.path(target.slot), target.span
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
            part_off(frame[0])
            frame[0].replaced.setdefault(old.name, (old, span))
            value = read(value) if type(value) is Variable and value.kind == "const" else value
        holder[at] = value

    return assign
