"""What a program declares, wherever it is nested."""

from __future__ import annotations

from typing import Any

from ...lang import program

_BLOCKS = (
    program.While
    | program.For
    | program.ExpectError
    | program.Tape
    | program.Pause
    | program.Record
)


def declarations(body: Any) -> list[program.Declare]:
    """The declarations among the statements of a frame, wherever they are nested."""
    found: list[program.Declare] = []
    for statement in body:
        if isinstance(statement, program.Declare):
            found.append(statement)
        elif isinstance(statement, program.If):
            for _, branch in statement.branches:
                found += declarations(branch)
            found += declarations(statement.otherwise)
        elif isinstance(statement, _BLOCKS):
            found += declarations(statement.body)
    return found


def declared_names(node: program.Program, prefix: str = "", needed: bool = False) -> list[str]:
    """The names that values from outside may be given for, or with `needed` must be; imported ones
    under their path."""
    names = [prefix + d.slot.name for d in declarations(node.body) if d.value is None or not needed]
    for statement in node.body:
        if isinstance(statement, program.Import):
            names += declared_names(statement.program, f"{prefix}{statement.slot.name}.", needed)
    return names
