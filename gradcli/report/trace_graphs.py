"""A trace as a graph: the DOT language of Graphviz, and Mermaid's flowcharts. An arrow goes from an
operand to the operation that reads it, and has the partial derivative; a broken one comes from an
earlier iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ..diagnostics import printable
from ..tasks.traced import Entry, Loop, Operation, Traced, shown
from .style import Style
from .summaries import brief

Drawn = TypeVar("Drawn")  # what a kind of graph makes of a node


class Edge(NamedTuple):
    """An arrow between two nodes, by their names, with its label."""

    start: str
    end: str
    label: str
    is_earlier: bool


def dot(traced: Traced, style: Style) -> str:
    """The graph in the DOT language."""

    def node(name: str, lines: list[str], is_source: bool, is_target: bool) -> list[str]:
        shape = "ellipse" if is_source else "box"
        border = ", peripheries=2" if is_target else ""
        label = "\\n".join(map(_dot_text, lines))
        return [f'{name} [label="{label}", shape={shape}{border}];']

    def box(name: str, label: str, inner: list[str]) -> list[str]:
        lines = [f"  {line}" for line in inner]
        return [f"subgraph cluster_{name} {{", f'  label="{_dot_text(label)}";', *lines, "}"]

    edges = [
        f'{e.start} -> {e.end} [label="{_dot_text(e.label)}"'
        + (", style=dashed, constraint=false];" if e.is_earlier else "];")
        for e in edges_of(traced, style)
    ]
    head = [f'label="{_dot_text(printable(traced.file))}";', 'node [fontname="monospace"];']
    lines = [*head, *nodes_of(traced, style, node, box), *edges]
    return "digraph trace {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def mermaid(traced: Traced, style: Style) -> str:
    """The graph as a flowchart of Mermaid."""

    def node(name: str, lines: list[str], is_source: bool, is_target: bool) -> list[str]:
        left, right = ("([", "])") if is_source else ("[[", "]]") if is_target else ("[", "]")
        return [f'{name}{left}"{"<br>".join(map(_mermaid_text, lines))}"{right}']

    def box(name: str, label: str, inner: list[str]) -> list[str]:
        lines = [f"  {line}" for line in inner]
        return [f'subgraph {name}["{_mermaid_text(label)}"]', *lines, "end"]

    edges = []
    for e in edges_of(traced, style):
        arrow = "-.->" if e.is_earlier else "-->"
        label = f'|"{_mermaid_text(e.label)}"|' if e.label else ""
        edges.append(f"{e.start} {arrow}{label} {e.end}")
    lines = [*nodes_of(traced, style, node, box), *edges]
    return "flowchart TB\n" + "".join(f"  {line}\n" for line in lines)


def nodes_of(
    traced: Traced,
    style: Style,
    node: Callable[[str, list[str], bool, bool], list[Drawn]],
    box: Callable[[str, str, list[Drawn]], list[Drawn]],
) -> Iterator[Drawn]:
    """What `node` makes of the sources and operations, and `box` of what a loop has of them."""
    targets: dict[int, str] = {}
    for name, numbers in traced.targets.items():
        targets.update(dict.fromkeys(numbers, name))
    for source in traced.sources:
        lines = [f"{printable(source.name)} = {brief(source.value, style)}"]
        yield from node(_id(source.number), lines, True, False)
    loops = 0

    def of(entries: Sequence[Entry]) -> Iterator[Drawn]:
        nonlocal loops
        for entry in entries:
            if isinstance(entry, Loop):
                loops += 1
                label = f"{printable(entry.text)} × {entry.iterations:,}"
                yield from box(f"loop{loops}", label, list(of(entry.body)))
            else:
                yield from node(
                    _id(entry.number), _label(entry, targets, style), False, entry.number in targets
                )

    yield from of(traced.entries)


def _label(entry: Operation, targets: dict[int, str], style: Style) -> list[str]:
    name = printable(targets.get(entry.number, ""))
    value = brief(entry.value, style)
    plain = [operand for operand in entry.operands if isinstance(operand, str)]
    call = f"{entry.op} {', '.join(plain)}".strip()
    return [printable(call), " = ".join(filter(None, [name, value])), f"line {entry.span.line}"]


def edges_of(traced: Traced, style: Style) -> Iterator[Edge]:
    """The arrows between what is shown."""
    operations = list(shown(traced.entries))
    known = {o.number for o in operations} | {s.number for s in traced.sources}
    for operation in operations:
        for n, partial in zip(operation.inputs, operation.partials, strict=True):
            start = traced.earlier.get(n, n)
            if start in known:
                yield Edge(_id(start), _id(operation.number), brief(partial, style), start != n)


def _id(number: int) -> str:
    return f"n{number}" if number >= 0 else f"v{-number}"


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mermaid_text(text: str) -> str:
    for character in '#"<>`&':
        text = text.replace(character, f"\0{ord(character)};")
    return text.replace("\0", "#")
