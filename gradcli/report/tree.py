"""Trees of dataclasses as indented text: what `--show ast` and `--show program` print."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

_MAX_DEPTH = 200


def draw(node: Any, indent: str = "", label: str = "") -> str:
    """One line a node with its plain fields; its child nodes below it, indented. Spans are left out."""
    if len(indent) > 2 * _MAX_DEPTH:
        return f"{indent}…"
    if isinstance(node, (list, tuple)):
        lines = [f"{indent}{label}:" if label else ""]
        lines += [draw(item, indent + "  ") for item in node]
        return "\n".join(line for line in lines if line)
    if not is_dataclass(node):
        return f"{indent}{label}={node!r}"
    plain, children = [], []
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name == "span" or not field.compare or value is None or (isinstance(value, (tuple, list)) and not value):
            continue
        if _is_leaf(value):
            plain.append(f"{field.name}={_leaf(value)}")
        else:
            children.append(draw(value, indent + "  ", field.name))
    head = f"{indent}{label + ': ' if label else ''}{type(node).__name__}"
    return "\n".join([" ".join([head, *plain]), *children])


def _is_leaf(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_leaf, value))
    return (not is_dataclass(value) and not isinstance(value, dict)) or _symbol(value) != ""


def _symbol(value: Any) -> str:
    """A slot or an op is drawn by its name: they are what a name has become."""
    return str(value.name) if type(value).__name__ in ("Slot", "Op") else ""


def _leaf(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_leaf, value)) + "]"
    return _symbol(value) or repr(value)
