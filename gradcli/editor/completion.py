"""What can be written at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ..lang import syntax
from ..lang.constants import CONSTANTS
from ..lang.imports import LIBRARY
from ..lang.lexer import LETTER, LETTER_OR_DIGIT, RESERVED, STATEMENTS
from ..lang.resolve import TYPES
from ..lang.scopes import Scope
from ..ops import BUILTINS
from ..ops.description import call
from ..ops.members import ATTRIBUTES, TAPE_MEMBERS
from ..ops.registry import load_packages
from .document import Document
from .hover import signature
from .names import imported

Kind = Literal["variable", "function", "module", "class", "constant", "type", "keyword", "member"]

_KINDS: dict[str, Kind] = {
    "fn": "function",
    "module": "class",
    "import": "module",
    "const": "constant",
}
_NAME = f"{LETTER}{LETTER_OR_DIGIT}*"
_WORD = re.compile(rf"{LETTER_OR_DIGIT}*$")
_OBJECT = re.compile(rf"({_NAME})[ \t]*$")
_BEHIND_POINT = re.compile(rf"(?:{_NAME}|[)\]}}])[ \t]*\.$")
_BEHIND_IMPORT = re.compile(r"(?:^|;)[ \t]*import[ \t]+$")
_IN_TYPE = re.compile(rf"(?:^|[;{{])[ \t]*(?:var|frozen|const)[ \t]+{_NAME}[ \t]*:[ \t]*$")
_CODE = re.compile(r'(?:[^"#]|"(?:\\.|[^"\\])*")*')


class Item(NamedTuple):
    """A word that can stand there; `rank` says which ones come first."""

    word: str
    kind: Kind
    rank: int
    detail: str = ""
    text: str = ""


def completions(document: Document, offset: int) -> list[Item]:
    """All words that can stand at a place, whatever has been written of one; [] in comments and
    strings."""
    text = document.source.text
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    code = _CODE.match(line)
    if code is None or code.end() < len(line):
        return []
    before = _WORD.sub("", line)
    if _BEHIND_POINT.search(before):
        return list(_behind_point(document, before[:-1], offset))
    if _BEHIND_IMPORT.search(before):
        names = sorted(path.stem for path in LIBRARY.glob("*.tg"))
        return [Item(name, "module", 0, "of the library") for name in names]
    if _IN_TYPE.search(before):
        return [Item(name, "type", 0) for name in TYPES]
    return list(_words(document, offset))


def _words(document: Document, offset: int) -> Iterator[Item]:
    """Names in scope, builtins, constants and keywords."""
    place = document.place(offset)
    seen: set[str] = set()
    scope: Scope | None = place.scope if place is not None else None
    while scope is not None:
        for item in _names_of(document, scope):
            if item.word not in seen:
                seen.add(item.word)
                yield item
        scope = scope.parent
    load_packages()  # which may add builtins
    for op in BUILTINS.values():
        if op.name not in seen:
            yield Item(op.name, "function", 1, call(op), op.summary)
    yield from (Item(name, "constant", 1) for name in CONSTANTS if name not in seen)
    yield from (Item(word, "keyword", 2) for word in sorted(RESERVED | STATEMENTS))


def _names_of(document: Document, scope: Scope) -> Iterator[Item]:
    for binding in scope.bindings.values():
        event = min(binding.events, key=lambda event: event.start)
        detail = signature(event, document.source)
        yield Item(binding.name, _KINDS.get(event.kind, "variable"), 0, detail)


def _behind_point(document: Document, before: str, offset: int) -> Iterator[Item]:
    """The members of what stands before a point: of an imported file, a tape, or any value."""
    name = _OBJECT.search(before)
    place = document.place(offset)
    binding = place.scope.find(name[1]) if name and place else None
    if binding is not None and (statement := binding.only("import")) is not None:
        assert isinstance(statement, syntax.Import)
        other = imported(document, statement)
        if other is not None and other.scopes is not None:
            yield from _names_of(other, other.scopes.top)
        return
    if binding is not None and binding.only("tape") is not None:
        yield from (Item(word, "member", 0) for word in TAPE_MEMBERS)
        return
    yield from (Item(word, "member", 0) for word in ATTRIBUTES)
    for op in BUILTINS.values():
        if op.signature.operands:
            yield Item(op.name, "function", 1, call(op), op.summary)
