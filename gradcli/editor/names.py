"""What the name at a place means: a builtin, something of the program, or of a file it imports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..diagnostics import GradcliError, Span
from ..lang import syntax
from ..lang.imports import LIBRARY, Importer
from ..lang.program import Program
from ..lang.scopes import Binding, Scope
from ..ops.op import Op
from ..ops.registry import find
from .document import Document


class Meaning(NamedTuple):
    """What a name stands for: a builtin; or a name of a document, with all that binds it; or an
    imported file, which is a document without a binding. `span` is where the name stands."""

    span: Span
    builtin: Op | None = None
    document: Document | None = None
    binding: Binding | None = None


def meaning(document: Document, offset: int) -> Meaning | None:
    """What the name at a place means; None where there is no name, or one that isn't known."""
    place = document.place(offset)
    if place is None:
        return None
    node = place.node
    statement = next((n for n in place.nodes if isinstance(n, syntax.Import)), None)
    if statement is not None:
        found = imported(document, statement)
        return None if found is None else Meaning(statement.span, document=found)
    if isinstance(node, syntax.Name):
        return _name(document, node.name, node.span, place.scope)
    if isinstance(node, syntax.Member) and offset >= node.name_span.start:
        return _member(document, node, place.scope)
    word = document.word_left_out(offset)
    return None if word is None else _name(document, word.text, word, place.scope)


def _name(document: Document, name: str, span: Span, scope: Scope) -> Meaning | None:
    binding = scope.find(name)
    if binding is not None:
        return Meaning(span, document=document, binding=binding)
    return _builtin(name, span)


def _member(document: Document, node: syntax.Member, scope: Scope) -> Meaning | None:
    """What is behind a point: a name of an imported file, or a builtin that is called like a
    method."""
    owner = scope.find(node.object.name) if isinstance(node.object, syntax.Name) else None
    statement = owner.only("import") if owner is not None else None
    if statement is None:
        return _builtin(node.name, node.name_span)
    other = imported(document, statement)
    binding = other.scopes.top.bindings.get(node.name) if other and other.scopes else None
    return None if binding is None else Meaning(node.name_span, None, other, binding)


def _builtin(name: str, span: Span) -> Meaning | None:
    op = find(name)
    return None if op is None else Meaning(span, builtin=op)


def imported(document: Document, statement: syntax.Import) -> Document | None:
    """The file that a statement imports; None where it can't be had."""
    path = Path(document.source.name)
    try:
        program: Program = Importer(path).load(statement.path, statement.span, statement.library)
    except GradcliError:
        return None
    folder = LIBRARY if program.source.is_library else ""
    return Document(os.path.join(folder, program.source.name), program.source.text)
