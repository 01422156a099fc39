"""Lines of a program in HTML, with what there is to say about them below each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element

from .page import tag

if TYPE_CHECKING:
    from ..diagnostics import Source, Span

WHOLE = 200  # lines of a program that is shown from its beginning to its end
AROUND = 2  # lines before and after one that there is something to say about
WIDEST = 400  # characters of a line
BEFORE = 160  # of them, before what is marked


class Note(NamedTuple):
    """What there is to say about a line: `kind` is a class of the style sheet, or ""."""

    text: str
    kind: str = ""


def excerpt(span: Span) -> Element:
    """The line of a span, with the span marked and some lines around it."""
    line = span.line
    numbers = range(max(line - AROUND, 1), max(line, min(line + AROUND, _total(span.source))) + 1)
    marked = {line: _marked(span)}
    return _listing([_line(n, marked.get(n, [_cut(span.source.line(n))])) for n in numbers])


def _total(source: Source) -> int:
    return source.text.rstrip().count("\n") + 1


def listing(
    source: Source, notes: Mapping[int, Sequence[Note]], computed: Mapping[int, int]
) -> Element:
    """A program with notes by line, and how often each line was computed; of a long one the lines
    around those that have notes."""
    total = _total(source)
    items, last = [], 0
    for number in _shown(total, notes):
        if number > last + 1:
            items.append(tag("li", tag("span", "⋮", class_="no")))
        items.append(_line(number, [_cut(source.line(number))], notes.get(number, ()), computed))
        last = number
    if last < total:
        items.append(tag("li", tag("span", "⋮", class_="no")))
    return _listing(items)


def _shown(total: int, notes: Mapping[int, object]) -> Iterator[int]:
    near = {n + k for n in notes for k in range(-AROUND, AROUND + 1)}
    return (n for n in range(1, total + 1) if total <= WHOLE or n in near)


def _listing(items: Sequence[Element]) -> Element:
    return tag("div", tag("ol", *items), class_="listing")


def _line(
    number: int,
    content: Sequence[Element | str],
    notes: Sequence[Note] = (),
    computed: Mapping[int, int] | None = None,
) -> Element:
    times = (computed or {}).get(number, 0)
    return tag(
        "li",
        tag("span", str(number), class_="no"),
        tag("pre", *content),
        tag("span", f"×{times}", class_="times") if times > 1 else None,
        *(tag("span", note.text, class_=f"note {note.kind}".rstrip()) for note in notes),
        class_="computed" if times else None,
    )


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[:WIDEST] + "…"


def _marked(span: Span) -> list[Element | str]:
    """The line of a span in three parts, of which the span is the middle one."""
    line, column = span.source.position(span.start)
    text = span.source.line(line)
    start = column - 1
    end = max(min(start + span.end - span.start, len(text)), start)
    first = max(start - BEFORE, 0)
    before = ("…" if first else "") + text[first:start]
    return [before, tag("mark", _cut(text[start:end])), _cut(text[end:])]
