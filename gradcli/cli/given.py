"""What the values of options mean that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..diagnostics import Diagnostic, GradcliError


def names(values: Iterable[str] | None) -> tuple[str, ...]:
    """The names of a repeatable option that takes comma lists. An output may be called `f(x, y)`:
    such commas don't count."""
    found: list[str] = []
    for value in values or ():
        depth, name = 0, ""
        for c in value:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                found.append(name)
                name = ""
            else:
                name += c
        found.append(name)
    return tuple(name.strip() for name in found if name.strip())


def values(
    assignments: list[str] | None, path: str | None, files: Iterable[str | None] | None = ()
) -> Mapping[str, Any]:
    """The inputs that `--set` and `--inputs` give, beside other `files` of the command line. Raises
    GradcliError."""
    if not assignments and path is None:
        return {}
    from ..tasks.inputs import STDIN, read_inputs, reads_stdin

    if STDIN in (files or ()) and reads_stdin(assignments or (), path):
        message = "the inputs are standard input, and so is something else"
        raise GradcliError(Diagnostic("E001", message, help="name a file for one"))
    return read_inputs(assignments or (), path)
