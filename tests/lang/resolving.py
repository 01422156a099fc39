"""Programs resolved from text, and what is looked at in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.diagnostics import GradcliError, Source
from gradcli.lang import program
from gradcli.lang.parser import parse
from gradcli.lang.resolve import resolve
from gradcli.lang.tree import Tree


def resolved(text: str, **options: Any) -> program.Program:
    source = Source("t.tg", text)
    return resolve(parse(source), source, **options)


def codes(text: str) -> list[str]:
    try:
        resolved(text)
    except GradcliError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []


def nodes(tree: Any, kind: type) -> Iterator[Any]:
    """All nodes of a kind, in order."""
    if isinstance(tree, tuple):
        for item in tree:
            yield from nodes(item, kind)
    elif isinstance(tree, Tree):
        if isinstance(tree, kind):
            yield tree
        for name in tree.FIELDS:
            if name not in ("source", "op"):
                yield from nodes(getattr(tree, name), kind)


def reads(text: str) -> list[tuple[str, bool]]:
    """The names that a program reads, and whether each read is checked."""
    return [(read.slot.name, read.checked) for read in nodes(resolved(text).body, program.Read)]
