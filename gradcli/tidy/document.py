"""Documents: text with the places where a line may end, and how one is fitted into a width.

The method is Wadler's, as in Prettier: a group is put on one line where it fits, else each of its
own lines ends, and the groups inside are tried again. Comments are notes: they wait until the line
ends.
"""

from __future__ import annotations

from typing import NamedTuple

from .lexemes import Comment


class Line(NamedTuple):
    """A place where a line may end; `flat` is what stands there otherwise."""

    flat: str


class Indent(NamedTuple):
    """A document whose lines begin further right."""

    inner: Document
    by: int = 4


class Group(NamedTuple):
    """A document that stands on one line where it fits, unless it is `broken` in any case."""

    inner: Document
    broken: bool


class IfBroken(NamedTuple):
    """Text that depends on whether the group around it is broken."""

    broken: str
    flat: str


class Settle(NamedTuple):
    """The end of a statement: the comments that wait stand on lines of this indentation."""


Document = str | list["Document"] | Line | Indent | Group | IfBroken | Settle | Comment

LINE, SOFT, SETTLE = Line(" "), Line(""), Settle()
HARD = Line("\n")  # a line always ends here


def group(inner: Document, broken: bool = False) -> Document:
    """A group; whatever can't stand on one line breaks it and those around it. Text is none."""
    return inner if isinstance(inner, str) else Group(inner, broken or breaks(inner))


def concat(parts: list[Document]) -> Document:
    """Documents one after the other, with neighbouring texts as one."""
    joined: list[Document] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined[0] if len(joined) == 1 else joined


def breaks(document: Document) -> bool:
    """Whether something in a document ends a line in any case."""
    pending = [document]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, Indent):
            pending.append(part.inner)
        elif (
            (isinstance(part, Group) and part.broken)
            or (isinstance(part, str) and "\n" in part)
            or isinstance(part, Comment)
            or part is HARD
        ):
            return True
    return False


# A document that waits to be written: how far right its lines begin, whether it stands on one line.
_Part = tuple[int, bool, Document]


def write(document: Document, width: int) -> str:
    """The text of a document, in lines of at most `width` columns where its groups allow that."""
    return _Writer(width).write(document)


class _Writer:
    def __init__(self, width: int) -> None:
        self.width = width
        self.written: list[str] = []
        self.column = 0
        self.margin = 0  # blanks that the line gets once something stands on it
        self.notes: list[tuple[int, Comment]] = []

    def write(self, document: Document) -> str:
        pending = [(0, False, document)]
        while pending:
            indent, flat, part = pending.pop()
            if isinstance(part, str):
                self._text(part)
            elif isinstance(part, list):
                pending += [(indent, flat, inner) for inner in reversed(part)]
            elif isinstance(part, Line):
                if flat and part is not HARD:
                    self._text(part.flat)
                else:
                    self._end_line(indent)
            elif isinstance(part, Group):
                flat = flat and not part.broken
                if not flat and not part.broken:
                    flat = self._fits((indent, True, part.inner), pending)
                pending.append((indent, flat, part.inner))
            elif isinstance(part, Indent):
                pending.append((indent + part.by, flat, part.inner))
            elif isinstance(part, IfBroken):
                self._text(part.flat if flat else part.broken)
            elif isinstance(part, Comment):
                self.notes.append((indent, part))
            else:
                self.notes = [(indent, comment) for _, comment in self.notes]
        return "".join(self.written)

    def _text(self, text: str) -> None:
        if not text:
            return
        if self.margin:
            self.written.append(" " * self.margin)
            self.column, self.margin = self.margin, 0
        self.written.append(text)
        self.column = len(text) - text.rfind("\n") - 1 if "\n" in text else self.column + len(text)

    def _end_line(self, indent: int) -> None:
        for k, (margin, comment) in enumerate(self.notes):
            if k == 0 and not comment.own_line:
                self.written.append(f"  {comment.text}")
            else:
                self.written.append(f"\n{' ' * margin}{comment.text}")
        self.notes.clear()
        self.written.append("\n")
        self.column, self.margin = 0, indent

    def _fits(self, first: _Part, following: list[_Part]) -> bool:
        """Whether `first`, and what follows it up to the next place where a line ends, fits into
        what is left of this line. The last of `following` comes next."""
        room = self.width - max(self.column, self.margin)
        pending = [first]
        rest = len(following)
        while pending or rest:
            if not pending:
                rest -= 1
                pending.append(following[rest])
            indent, flat, part = pending.pop()
            if isinstance(part, str):
                room -= len(part.partition("\n")[0])
                if room < 0:
                    return False
                if "\n" in part:
                    return True
            elif isinstance(part, list):
                pending += [(indent, flat, inner) for inner in reversed(part)]
            elif isinstance(part, Line):
                if not flat or part is HARD:
                    break
                room -= len(part.flat)
            elif isinstance(part, Group):
                pending.append((indent, flat and not part.broken, part.inner))
            elif isinstance(part, Indent):
                pending.append((indent, flat, part.inner))
            elif isinstance(part, IfBroken):
                room -= len(part.flat if flat else part.broken)
        return room >= 0
