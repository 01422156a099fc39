"""What is wrong with a program, and what `lint` finds in it."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..diagnostics import Diagnostic, GradcliError, Source, Span
from ..lang import syntax
from ..lang.scopes import children
from ..tidy.findings import Fix
from ..tidy.linting import EVERYTHING, Wanted, find
from .document import Document

_UNNECESSARY = ("W401", "W404")  # what nothing reads, and what never runs


class Problem(NamedTuple):
    """A diagnostic at a place of this document. What is wrong with an imported file is a problem
    of the import, and `origin` is where that file has it. `fix` is text that can replace what is
    there with the same meaning."""

    diagnostic: Diagnostic
    span: Span
    origin: Span | None = None
    fix: Fix | None = None

    @property
    def message(self) -> str:
        """What the diagnostic says, with its help on a line of its own."""
        found = self.diagnostic
        said = f"{found.message}: {found.label}" if found.label else found.message
        return f"{said}\nhelp: {found.help}" if found.help else said

    @property
    def is_unnecessary(self) -> bool:
        """Whether the code there does nothing."""
        return self.diagnostic.code in _UNNECESSARY


def problems(document: Document, wanted: Wanted = EVERYTHING) -> list[Problem]:
    """All errors that are known without running; where there are none, what `lint` finds."""
    try:
        found = find(document.source, wanted)
    except GradcliError as error:
        return [_placed(diagnostic, document) for diagnostic in error.diagnostics]
    return [Problem(f.diagnostic, f.span, fix=f.fix) for f in found]


def _placed(diagnostic: Diagnostic, document: Document) -> Problem:
    span = diagnostic.span
    if span is None:
        return Problem(diagnostic, Span(document.source, 0, 0))
    if span.source.name == document.source.name:
        return Problem(diagnostic, span)
    return Problem(diagnostic, _import_of(span.source, document), span)


def _import_of(source: Source, document: Document) -> Span:
    """The statement that imports a file, or where another imported file imports it, the first
    import."""
    folder = os.path.dirname(document.source.name)
    imports = [node for node in children(document.tree) if isinstance(node, syntax.Import)]
    exact = [node for node in imports if os.path.join(folder, node.path) == source.name]
    node = next(iter(exact + imports), document.tree)
    assert node is not None  # it was parsed, or nothing would be imported
    return node.span
