"""What a program declares, wherever it is nested."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang import program
from ...lang.program.walks import statements


def declarations(body: Iterable[program.Statement]) -> list[program.Declare]:
    """The declarations among the statements of a frame, wherever they are nested."""
    return [item for item in statements(body) if isinstance(item, program.Declare)]


def declared_names(node: program.Program, prefix: str = "", needed: bool = False) -> list[str]:
    """The names that values from outside may be given for, or with `needed` must be; imported ones
    under their path."""
    names = [prefix + d.slot.name for d in declarations(node.body) if d.value is None or not needed]
    for statement in node.body:
        if isinstance(statement, program.Import):
            names += declared_names(statement.program, f"{prefix}{statement.slot.name}.", needed)
    return names
