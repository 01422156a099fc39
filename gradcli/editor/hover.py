"""What an editor shows about the name under the pointer, as Markdown.

All text that comes from a program stands in a block of code, where it can't be anything else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..diagnostics import Source, Span
from ..lang import syntax
from ..lang.scopes import Event
from ..ops.description import facts, usage
from ..ops.op import Op
from .document import Document
from .names import Meaning, meaning

_MAX_LINES = 20  # of a comment
_COMMENT = re.compile(r'^(?:[^"#\n]|"(?:\\.|[^"\\\n])*")*(#.*)$')


class Hover(NamedTuple):
    """Markdown, and the name that it is about."""

    markdown: str
    span: Span


def hover(document: Document, offset: int) -> Hover | None:
    """What is known about the name at a place."""
    found = meaning(document, offset)
    if found is None:
        return None
    text = _builtin(found.builtin) if found.builtin else _own(found)
    return Hover(text, found.span)


def _builtin(op: Op) -> str:
    lines = [
        f"- {label}: `{text}`" if "∂" in label else f"- {label}: {text}"
        for label, text in facts(op)
    ]
    return "\n".join([_code(usage(op)), "", op.summary, "", *lines])


def _own(found: Meaning) -> str:
    assert found.document is not None  # it is no builtin
    if found.binding is None:  # an imported file: its first comment
        lines = found.document.source.text.split("\n")
        return _code("\n".join(_comment(lines, len(_leading(lines)))) or "# imported")
    event = min(found.binding.events, key=lambda event: event.start)
    source = found.document.source
    lines = source.text.split("\n")
    number = source.position(event.node.span.start)[0] - 1
    said = signature(event, source)
    above = _comment(lines, number)
    behind = _COMMENT.match(lines[number])
    text = [*above, said] if above or not behind else [f"{said}  {behind[1]}"]
    more = len(found.binding.events) - 1
    if more:
        text.append(f"# and assigned in {more} other place{'s' * (more > 1)}")
    return _code("\n".join(text))


def signature(event: Event, source: Source) -> str:
    """How a name is declared: a function or module without its body, else the statement on one
    line."""
    node = event.node
    if isinstance(node, syntax.Define | syntax.ModuleDefinition):
        head = source.text[node.span.start : node.body.span.start]
        return " ".join(head.split()).rstrip("={ ")
    if isinstance(node, syntax.For | syntax.Tape):
        span: Span = node.span
        return f"{' '.join(source.text[span.start : node.body.span.start].split())}".rstrip("{ ")
    brief: str = node.span.brief
    return f"{brief}  # a parameter" if isinstance(node, syntax.Parameter) else brief


def _comment(lines: list[str], end: int) -> list[str]:
    """The comment that ends above a line."""
    start = end
    while start and end - start < _MAX_LINES and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return [line.strip() for line in lines[start:end]]


def _leading(lines: list[str]) -> list[str]:
    """The lines of the comment that a file begins with."""
    count = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return lines[:count]


def _code(text: str) -> str:
    """A block of code, whatever the text has in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}gradcli\n{text}\n{fence}"
