"""Workflow commands that GitHub shows as annotations on the lines concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagnostics import printable

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic


def annotation(file: str, problem: Diagnostic) -> str:
    """A diagnostic as the command that shows it on its line."""
    place = f"file={property_text(problem.span.source.name if problem.span else file)}"
    if problem.span is not None:
        place += f",line={problem.span.line},col={problem.span.column}"
    parts = [problem.message, problem.label, f"help: {problem.help}" if problem.help else ""]
    level = "warning" if problem.severity == "warning" else "error"
    text = message_text("\n".join([printable(part) for part in parts if part]))
    return f"::{level} {place},title={problem.code}::{text}"


def message_text(text: str) -> str:
    """The text of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_text(text: str) -> str:
    """A property of a command, such as the name of a file."""
    return message_text(printable(text)).replace(":", "%3A").replace(",", "%2C")
