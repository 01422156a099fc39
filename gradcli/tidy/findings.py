"""What `lint` finds: warnings, some with a fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..diagnostics import Diagnostic, Span


class Fix(NamedTuple):
    """Text that can stand in the place of other text, with the same meaning."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning about a place in a program."""

    diagnostic: Diagnostic
    fix: Fix | None = None

    @property
    def span(self) -> Span:
        assert self.diagnostic.span is not None  # every rule is about a place
        return self.diagnostic.span


@dataclass(slots=True)
class Linted:
    """What was found in one program. With `errors` it couldn't be read; `fixed` were mended."""

    file: str
    findings: list[Finding] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)
    fixed: int = 0

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return [*self.errors, *[finding.diagnostic for finding in self.findings]]

    @property
    def exit_code(self) -> int:
        return max([int(bool(self.findings)), *[error.exit_code for error in self.errors]])
