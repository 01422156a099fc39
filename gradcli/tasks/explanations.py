"""What `why` answers: plain dataclasses, for the reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import CallSite, Diagnostic, Span


@dataclass(frozen=True, slots=True)
class Summary:
    """An array in a few numbers: its shape, the least and the largest element, how many are zero,
    and how many not finite."""

    shape: tuple[int, ...]
    low: float
    high: float
    zeros: int
    nonfinite: int


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on the chain from a source to a target, or the source itself.

    text      what the program says there; `op` the operation's name, "" for the source
    value     of the operation, a number or the summary of an array; None where it wasn't kept
    partial   the derivative of the value by that of the step before; None where that is no number
              and no array of them
    gradient  the derivative of the target by the value
    breaks    whether the chain, or the gradient, breaks here
    skipped   operations that aren't shown between the step before and this one
    """

    text: str
    op: str
    span: Span | None
    value: Any = None
    partial: Any = None
    gradient: Any = None
    breaks: bool = False
    skipped: int = 0
    calls: tuple[CallSite, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a gradient is what it is.

    of, wrt   the target and the source; `of` is "" for a gradient that the program asked for
              itself, `asked` then says where
    status    "connected", "none", "zero", "nan" or "inf"
    gradient  the gradient, with the shape of the source; None where there is none
    reason    a code that `gradcli explain` knows, "" where the gradient is as it should be
    span      where it happens, and `origin` where the source came from
    steps     the chain: of several ways the one that gives most
    length    of the chain, in operations
    summed    whether the target isn't a scalar, so that the gradient is that of the sum of its
              elements
    ways      on which the source leads to the target: operations that read it
    """

    of: str
    wrt: str
    status: str
    gradient: Any = None
    reason: str = ""
    message: str = ""
    span: Span | None = None
    help: str = ""
    calls: tuple[CallSite, ...] = ()
    origin: Span | None = None
    steps: tuple[Step, ...] = ()
    length: int = 0
    ways: int = 0
    asked: Span | None = None
    summed: bool = False


@dataclass(slots=True)
class Answer:
    """The explanations of one program."""

    file: str
    explanations: list[Explanation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0, or the highest code among the errors: an explanation is no failure."""
        return max([0, *(d.exit_code for d in self.diagnostics)])
