"""What `symbolic` answers: a plain dataclass, for the reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostic

TO = ("text", "pretty", "latex", "python", "numpy", "c", "fortran", "julia", "rust")


@dataclass(slots=True)
class Symbolic:
    """The closed forms of one program, written.

    to           what they are written in, one of `TO`
    values       by output: a string, or nested lists (or a dict) of them for an array (a list, a
                 dict)
    derivatives  by output and then by what: `("x",)` the gradient by x, `("x", "z")` the derivative
                 by x and z
    summed       outputs that aren't scalars: their derivatives are those of the sum of their
                 elements
    code         all of them as functions, where `to` is a programming language
    notes        which outputs are not differentiated unasked
    """

    file: str
    to: str = "text"
    values: dict[str, Any] = field(default_factory=dict)
    derivatives: dict[str, dict[tuple[str, ...], Any]] = field(default_factory=dict)
    summed: set[str] = field(default_factory=set)
    code: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0, or the highest code among the diagnostics."""
        return max([0, *(d.exit_code for d in self.diagnostics)])
