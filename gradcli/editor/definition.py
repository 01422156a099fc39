"""Where the name under the cursor is declared, or the file that is imported there."""

from __future__ import annotations

from ..diagnostics import Span
from .document import Document
from .names import meaning


def definition(document: Document, offset: int) -> Span | None:
    """The place that binds the name for the first time; None for builtins."""
    found = meaning(document, offset)
    if found is None or found.document is None:
        return None
    if found.binding is None:
        return Span(found.document.source, 0, 0)
    event = min(found.binding.events, key=lambda event: event.start)
    return found.document.name_span(event, found.binding.name)
