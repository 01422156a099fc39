"""A program that is being written: its text, and what is known of it despite its errors."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

from ..diagnostics import GradcliError, Source, Span
from ..lang import syntax
from ..lang.lexer import LETTER, LETTER_OR_DIGIT
from ..lang.parser import parse
from ..lang.scopes import Event, Scope, Scopes, children
from ..platform.recursion import recursion
from ..tidy.formatting import FRAMES

_WORD = re.compile(f"{LETTER}{LETTER_OR_DIGIT}*")
_LEFT_OUT = 5  # lines with errors, at most, without which a text is tried


class Place(NamedTuple):
    """A place in a program: the nodes around it, from the outermost inwards, and the scope that
    names are looked up in."""

    nodes: tuple[Any, ...]
    scope: Scope

    @property
    def node(self) -> Any:
        return self.nodes[-1]


class Document:
    """The text of a program under the name of its file."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(name, text)

    @cached_property
    def _parsed(self) -> tuple[syntax.Module | None, str]:
        """The syntax tree, and the text that it is of: the document's, or that without the lines
        that errors are in. There is none where leaving out a few lines doesn't help."""
        text = self.source.text
        for _ in range(_LEFT_OUT):
            try:
                with recursion(FRAMES):
                    return parse(Source(self.source.name, text)), text
            except GradcliError as error:
                span = error.diagnostics[0].span
                if span is None:
                    break
                text = _without_line(text, span.start)
        return None, text

    @property
    def tree(self) -> syntax.Module | None:
        return self._parsed[0]

    @cached_property
    def scopes(self) -> Scopes | None:
        return None if self.tree is None else Scopes(self.tree)

    def place(self, offset: int) -> Place | None:
        """What is known about a place; None where the text can't be parsed."""
        if self.tree is None or self.scopes is None:
            return None
        nodes: list[Any] = [self.tree]
        scope = self.scopes.top
        while (inner := _child_at(nodes[-1], offset)) is not None:
            if not isinstance(inner, syntax.Parameter):
                scope = self.scopes.functions.get(id(nodes[-1]), scope)
            elif offset <= inner.name.span.end:  # a default is computed outside the function
                scope = self.scopes.functions[id(nodes[-1])]
            nodes.append(inner)
        return Place(tuple(nodes), self.scopes.functions.get(id(nodes[-1]), scope))

    def word_left_out(self, offset: int) -> Span | None:
        """The word at a place that no tree has, because its line has an error."""
        for match in _WORD.finditer(self.source.text, *self._line(offset)):
            if match.start() <= offset <= match.end():
                is_blank = not self._parsed[1][match.start() : match.end()].strip()
                return Span(self.source, *match.span()) if is_blank else None
        return None

    def _line(self, offset: int) -> tuple[int, int]:
        text = self.source.text
        end = text.find("\n", offset)
        return text.rfind("\n", 0, offset) + 1, len(text) if end < 0 else end

    def name_span(self, event: Event, name: str) -> Span:
        """Where the name stands that an event binds."""
        node = event.node
        if isinstance(node, syntax.Import):
            return node.alias.span
        if isinstance(node, syntax.For | syntax.Clause):
            return next(word.span for word in node.names if word.name == name)
        if isinstance(node, syntax.Assign | syntax.Augment):
            place = self.place(event.start)
            assert place is not None  # the node comes from the tree
            span: Span = place.node.span
            return span
        named: Span = node.name.span
        return named


def _child_at(node: Any, offset: int) -> Any:
    """The node directly below that a place is in, or else one that ends there."""
    ends = None
    for child in children(node):
        if child.span.start <= offset < child.span.end:
            return child
        if child.span.end == offset and ends is None:
            ends = child
    return ends


def _without_line(text: str, offset: int) -> str:
    """The text with blanks in place of the line that a place is in; of an empty one, the last line
    before that has something."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    before = text[:end].rstrip()
    start = before.rfind("\n") + 1
    return text[:start] + " " * (len(before) - start) + text[len(before) :]
