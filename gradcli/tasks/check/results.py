"""What a check is asked and what it answers: plain dataclasses, shared with the reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import Diagnostic, GradcliError, Span, did_you_mean
from ...engine.run import Expectation
from ..evaluation import Options

AGREE, DISAGREE, INCONCLUSIVE, SKIPPED = "agree", "disagree", "inconclusive", "skipped"
RULES = "derivatives in the program"  # the output of findings about what it asks for itself
OTHERS = "*"  # all further variables together, in a mixed second derivative
METHODS = {
    "forward": "forward mode, whose rules are those of reverse mode",
    "complex": "the complex step, exact to rounding",
    "differences": "finite differences of the program, extrapolated, with an error estimate of their own",
    "taylor": "the order of the Taylor remainder: 2 for a right gradient, 1 for a wrong one",
    "sympy": "SymPy's derivative of the closed form, with 50 digits",
}


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to check.

    run         how to run the program: what is differentiated by what, dtype, seed, limits
    methods     the ones to use, of METHODS
    points      random points of the declared domains, beside the declared values
    order       2: second derivatives, too
    rtol, atol  distances that count as none, beside what the methods' own errors allow; None: nothing beside
    lenient     whether an inconclusive verdict passes
    against     a file of gradients to compare with, too
    """

    run: Options = field(default_factory=Options)
    methods: tuple[str, ...] = tuple(METHODS)
    points: int = 0
    order: int = 1
    rtol: float | None = None
    atol: float | None = None
    lenient: bool = True
    against: str | None = None


def methods_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """The methods named, in the order of METHODS; all where none is. Raises GradcliError (E001) for any other."""
    for name in names:
        if name not in METHODS:
            help = did_you_mean(name, METHODS) or f"the methods are {', '.join(METHODS)}"
            raise GradcliError(Diagnostic("E001", f"--methods: there is no method `{name}`", help=help))
    return tuple(m for m in METHODS if m in names) if names else tuple(METHODS)


@dataclass(slots=True)
class Finding:
    """One method's answer about one derivative: of an output, by a variable, at a point.

    variable  "" for derivatives that the program asks for; "x,z" in a mixed second derivative, "x,*" in one by all others
    method    a name of METHODS, "against", or "rules": of the operations that the program itself goes back through
    verdict   "agree", "disagree", "inconclusive" or "skipped", for a method that doesn't apply; `reason` says why
    where     the element or direction that is shown: "" for all of a scalar, "[1]", "x[0],z[1]", "along a random direction"
    ours      the derivative there, as reverse mode has it
    theirs    as the method has it; for "taylor" the order, for "rules" how many were tested
    error     the method's own estimate of its error
    ulps      the distance in units of the last place of the larger one
    point     0 for the declared values, else the number of a random point
    """

    output: str
    variable: str
    method: str
    verdict: str
    reason: str = ""
    where: str = ""
    ours: float = 0.0
    theirs: float = 0.0
    error: float = 0.0
    ulps: float = 0.0
    order: int = 1
    point: int = 0
    span: Span | None = None  # where the output is computed


@dataclass(frozen=True, slots=True)
class Blame:
    """An operation whose own rule is wrong at its actual operands: what it gives, what the operation itself says, and the
    quotient. `calls` lead to it."""

    output: str
    operation: str
    span: Span
    ours: float
    theirs: float
    operands: str
    calls: tuple[Any, ...] = ()

    @property
    def factor(self) -> float:
        return self.ours / self.theirs if self.theirs else float("inf")


@dataclass(frozen=True, slots=True)
class Kink:
    """A place where a derivative jumps, with the derivatives of the output to its left and right."""

    output: str
    variable: str
    operation: str
    span: Span
    operand: str
    left: float
    right: float


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
    """The branches that were taken, and by variable the interval around its value in which all of them stay:
    (low, whether low belongs to it, high, whether high does)."""

    branches: list[Branch] = field(default_factory=list)
    valid: dict[str, tuple[float, bool, float, bool]] = field(default_factory=dict)


@dataclass(slots=True)
class Check:
    """What came of checking one file."""

    file: str
    findings: list[Finding] = field(default_factory=list)
    kinks: list[Kink] = field(default_factory=list)
    blamed: list[Blame] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    expectations: list[Expectation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)  # the random ones
    lenient: bool = True

    def counts(self) -> tuple[int, int, int]:
        """How many passed, failed and were skipped: findings and expectations."""
        verdicts = [f.verdict for f in self.findings]
        passed = verdicts.count(AGREE) + sum(e.passed for e in self.expectations)
        failed = verdicts.count(DISAGREE) + sum(not e.passed for e in self.expectations)
        failed += sum(d.severity == "error" for d in self.diagnostics)
        unclear = verdicts.count(INCONCLUSIVE)
        return passed, failed + (0 if self.lenient else unclear), verdicts.count(SKIPPED) + (unclear if self.lenient else 0)

    @property
    def exit_code(self) -> int:
        failed = 1 if self.counts()[1] else 0
        return max([failed, *(d.exit_code for d in self.diagnostics)])
