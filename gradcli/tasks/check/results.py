"""What a check is asked and what it answers: plain dataclasses, shared with the reports."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import Diagnostic, Span
from ...engine.trace.run import Expectation
from ..evaluation import Options
from .methods import INDEPENDENT, METHODS

AGREE, DISAGREE, INCONCLUSIVE, SKIPPED = (
    "agree",
    "disagree",
    "inconclusive",
    "skipped",
)  # what one method says
# What becomes of a gradient; "allowed" is one that isn't finite where that is meant.
VERIFIED, KINK, ALLOWED, UNDECIDED, NONFINITE, WRONG = (
    "verified",
    "kink",
    "allowed",
    "undecided",
    "nonfinite",
    "wrong",
)
RULES = "derivatives in the program"  # the output of findings about what it asks for itself
OTHERS = "*"  # all further variables together, in a mixed second derivative


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check.

    run         how to run the program: what is differentiated by what, dtype, seed, limits
    methods     the ones to use, of METHODS
    points      random points of the declared domains, beside the declared values
    order       2: second derivatives, too
    rtol, atol  distances that count as none, beside what the methods' own errors allow; None:
                nothing beside
    lenient     whether a gradient at a kink passes
    strict      whether a gradient that no independent method confirms fails
    nonfinite   whether values and gradients may be nan or infinite
    against     a file of gradients to compare with, too
    command     a program that is run for gradients to compare with, too: its words
    patience    seconds that this program may take at a point
    """

    run: Options = field(default_factory=Options)
    methods: tuple[str, ...] = tuple(METHODS)
    points: int = 0
    order: int = 1
    rtol: float | None = None
    atol: float | None = None
    lenient: bool = True
    strict: bool = False
    nonfinite: bool = False
    against: str | None = None
    command: tuple[str, ...] = ()
    patience: float = 60.0


def in_ci() -> bool:
    """Whether this is a job of continuous integration, as the variable CI says: there checks are
    strict."""
    return os.environ.get("CI", "").lower() in ("true", "1")


@dataclass(slots=True)
class Finding:
    """What one method says about one derivative: of an output by a variable, at a point.

    variable  "" for derivatives that the program asks for; "x,z" in a mixed second derivative,
              "x,*" in one by all others
    method    a name of METHODS, or "against": gradients from elsewhere; "rules": the rules behind
              the derivatives that the program asks for; "linear": a function's own rule; "finite":
              the numbers themselves; "connected": whether there is a gradient at all
    verdict   "agree", "disagree", "inconclusive" or "skipped", for a method that doesn't apply;
              `reason` says why
    where     the element or direction that is shown: "" for all of a scalar, "[1]", "x[0],z[1]",
              "along a random direction"
    ours      the derivative there, as reverse mode has it; nan where the finding isn't about a
              number
    theirs    as the method has it; for "taylor" the order, for "rules" how many were tested; nan
              where it has none
    error     the method's own estimate of its error
    tolerance how far `ours` and `theirs` may be apart
    ulps      the distance in units of the last place of the larger one
    point     0 for the declared values, else the number of a random point
    at_kink   whether the method can't agree because the derivative jumps there
    written   of "against": with how few digits one of the numbers is written that were compared;
              None where that is no limit
    """

    output: str
    variable: str
    method: str
    verdict: str
    reason: str = ""
    where: str = ""
    ours: float = math.nan
    theirs: float = math.nan
    error: float = 0.0
    tolerance: float = 0.0
    ulps: float = 0.0
    order: int = 1
    point: int = 0
    at_kink: bool = False
    span: Span | None = None  # where the output is computed
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One derivative, of an output by a variable, with all that was found about it at all points;
    or, where `is_value`, the value of an output that was given from elsewhere."""

    output: str
    variable: str
    order: int
    findings: list[Finding]

    @property
    def is_value(self) -> bool:
        return not self.variable and self.output != RULES

    @property
    def points(self) -> dict[int, list[Finding]]:
        """The findings by point, 0 being the declared values."""
        found: dict[int, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.point, []).append(finding)
        return found

    @property
    def verdicts(self) -> dict[int, str]:
        """The verdicts on the derivative, point by point."""
        return {point: _verdict(findings, self.is_value) for point, findings in self.points.items()}

    @property
    def verdict(self) -> str:
        """The worst of these verdicts."""
        return max(self.verdicts.values(), key=_ORDER.index)

    @property
    def reasons(self) -> list[str]:
        """Why methods don't agree, each once."""
        return list(
            dict.fromkeys(f.reason for f in self.findings if f.reason and f.verdict != AGREE)
        )

    @property
    def digits(self) -> int | None:
        """How many decimal digits are verified, at the point where they are fewest; None where none
        are, as of 0."""
        found = (
            [_digits(findings) for findings in self.points.values()]
            if self.verdict == VERIFIED
            else []
        )
        return min((digits for digits in found if digits is not None), default=None)


_ORDER = (VERIFIED, KINK, ALLOWED, UNDECIDED, NONFINITE, WRONG)
_ALL_DIGITS = 15  # that a float64 has


def _verdict(findings: Sequence[Finding], is_value: bool) -> str:
    """What becomes of a derivative at one point, of which methods say this; or of a value."""
    finite = [f.verdict for f in findings if f.method == "finite"]
    if finite:
        return NONFINITE if DISAGREE in finite else ALLOWED
    if any(f.verdict == DISAGREE for f in findings):
        return WRONG
    if any(f.at_kink for f in findings):
        return KINK
    return (
        VERIFIED
        if is_value or any(f.verdict == AGREE and f.method in INDEPENDENT for f in findings)
        else UNDECIDED
    )


def _digits(findings: Sequence[Finding]) -> int | None:
    """The digits that the sharpest of the independent methods verifies."""
    agreeing = [
        f
        for f in findings
        if f.method in INDEPENDENT and f.verdict == AGREE and f.ours and f.tolerance
    ]
    if not agreeing:
        return None
    sharpest = min(f.tolerance / abs(f.ours) for f in agreeing)
    return min(math.floor(-math.log10(sharpest)), _ALL_DIGITS) if sharpest < 0.1 else None


@dataclass(frozen=True, slots=True)
class Blame:
    """An operation whose own rule is wrong at its actual operands: what it gives, what the
    operation itself says, and the quotient. `calls` lead to it. `fault` says what is wrong where
    that isn't a number: a rule that isn't linear."""

    output: str
    operation: str
    span: Span
    ours: float
    theirs: float
    operands: str
    calls: tuple[Any, ...] = ()
    fault: str = ""

    @property
    def factor(self) -> float:
        return self.ours / self.theirs if self.theirs else float("inf")


@dataclass(frozen=True, slots=True)
class Kink:
    """A place where a derivative jumps, with the derivatives of the output to its left and right.
    `curve` has the output around it: how far the variable has moved, and the value there.
    `functions` are those that the operation was called in."""

    output: str
    variable: str
    operation: str
    span: Span
    operand: str
    left: float
    right: float
    curve: tuple[tuple[float, float], ...] = ()
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition on the way, how often it held and didn't, and how far it is from flipping.

    distance  by variable, the smallest change that flips it, to first order
    """

    span: Span
    held: int
    failed: int
    distance: dict[str, float]


@dataclass(slots=True)
class Path:
    """The branches that were taken, and by variable the interval around its value in which all of
    them stay: (low, whether low belongs to it, high, whether high does). `computed` counts, place
    by place, the operations between the variables and the outputs."""

    branches: list[Branch] = field(default_factory=list)
    computed: dict[Span, int] = field(default_factory=dict)
    valid: dict[str, tuple[float, bool, float, bool]] = field(default_factory=dict)


@dataclass(slots=True)
class Check:
    """What came of checking one file.

    expectations  those that were executed at the declared values, and those that failed at random
                  points
    points        the random points: values by name
    lenient, strict  as in CheckOptions
    declares      whether the program declares a trainable variable
    missing       the gradients that there aren't, and why
    """

    file: str
    findings: list[Finding] = field(default_factory=list)
    kinks: list[Kink] = field(default_factory=list)
    blamed: list[Blame] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    expectations: list[Expectation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    lenient: bool = True
    strict: bool = False
    declares: bool = True
    missing: list[str] = field(default_factory=list)

    @property
    def results(self) -> list[Result]:
        """The findings as one result for each derivative, in the order in which they were
        checked."""
        found: dict[tuple[str, str, int], list[Finding]] = {}
        for f in self.findings:
            found.setdefault((f.output, f.variable, f.order), []).append(f)
        return [Result(*key, findings) for key, findings in found.items()]

    def fails(self, verdict: str) -> bool:
        """Whether a gradient with this verdict makes the check fail."""
        if verdict in (KINK, UNDECIDED):
            return self.strict if verdict == UNDECIDED else not self.lenient
        return verdict in (NONFINITE, WRONG)

    def counts(self) -> tuple[int, int, int]:
        """How many passed, failed and were skipped: gradients, expectations, and errors of the
        program."""
        verdicts = [result.verdict for result in self.results]
        failed = sum(map(self.fails, verdicts))
        passed = sum(v in (VERIFIED, KINK) and not self.fails(v) for v in verdicts)
        held = sum(e.passed for e in self.expectations)
        broken = (
            len(self.expectations) - held + sum(d.severity == "error" for d in self.diagnostics)
        )
        return passed + held, failed + broken, len(verdicts) - passed - failed

    @property
    def nothing(self) -> Diagnostic | None:
        """The error that nothing was verified, with the reason; None where something was, or
        failed. A program without variables, which others import, has nothing to verify."""
        passed, failed, _ = self.counts()
        return None if passed or failed or not self.declares else nothing_verified(self)

    @property
    def exit_code(self) -> int:
        failed = 1 if self.counts()[1] or self.nothing else 0
        return max([failed, *(d.exit_code for d in self.diagnostics)])


def nothing_in_all(checks: Sequence[Check]) -> Diagnostic | None:
    """The error that nothing was verified in any of the files, where no single one of them says
    so."""
    quiet = all(check.counts()[:2] == (0, 0) and check.nothing is None for check in checks)
    return nothing_verified(checks[0]) if checks and quiet else None


def nothing_verified(check: Check) -> Diagnostic:
    """The error (E611) that nothing was verified in a file, and why."""
    results = check.results
    reasons = list(dict.fromkeys(reason for result in results for reason in result.reasons))
    if not check.declares:
        why = f"`{check.file}` declares no variable (`var x = 2.0`)"
    elif not results:
        why = "; ".join(check.missing[:3]) or "there is no output that has a gradient"
    else:
        why = "; ".join(reasons[:3]) or "no method applies"
    return Diagnostic(
        "E611",
        f"nothing was verified: {why}",
        help="`gradcli explain E611` says what a check needs",
    )
