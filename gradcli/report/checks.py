"""What the formats of `check` share: labels of derivatives, and what went wrong as diagnostics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostic
from ..naming import halves, on_screen
from .text import number

if TYPE_CHECKING:
    from ..tasks.check.results import Blame, Check, Finding, Result

METHODS = {
    "forward": "forward mode",
    "complex": "complex step",
    "differences": "differences",
    "taylor": "Taylor order",
    "sympy": "SymPy",
    "against": "given",
    "rules": "rules",
}
SHORT = {
    "forward": "forward",
    "complex": "complex",
    "differences": "diff.",
    "taylor": "Taylor",
    "sympy": "SymPy",
    "against": "given",
    "rules": "rules",
}
_NONFINITE_HELP = (
    "`gradcli eval --debug-nan` says where it comes from; `gradcli explain E610`, how to say "
    "that it is meant"
)


def label(output: str, variable: str, order: int = 1) -> str:
    """`∂f/∂x`, `∂²f/∂x²`, `∂²f/∂x∂z`; without a variable the name itself."""
    if not variable:
        return output
    if order == 2:
        first, second = halves(variable)
        return on_screen(output, (first, "all others" if second == "*" else second))
    return on_screen(output, (variable,))


def place_label(finding: Finding) -> str:
    """The label of a derivative by one element, where it is one that is shown."""
    if not finding.where or finding.where.startswith(" "):
        return label(finding.output, finding.variable, finding.order)
    if finding.where.startswith(("[", ".")):
        return label(finding.output, finding.variable, finding.order) + finding.where
    return label(finding.output, finding.where, finding.order)


def proved(checks: Sequence[Check]) -> str:
    """What share was proved: `3 of 4 gradients verified by independent methods, 1 at a kink, 0
    undecided`."""
    verdicts = [
        result.verdict for check in checks for result in check.results if not result.is_value
    ]
    kinks, nonfinite = (
        verdicts.count("kink"),
        verdicts.count("nonfinite") + verdicts.count("allowed"),
    )
    said = [
        f"{verdicts.count('verified')} of {len(verdicts)} gradients verified by independent methods"
    ]
    said += [f"{kinks} at a kink"] if kinks else []
    said += [f"{nonfinite} not finite"] if nonfinite else []
    return ", ".join([*said, f"{verdicts.count('undecided')} undecided"])


def summary(checks: Sequence[Check]) -> str:
    """The last line: `12 passed, 0 failed, 1 skipped`, where a gradient, an expectation or an error
    is one."""
    passed, failed, skipped = (
        (sum(counts) for counts in zip(*(check.counts() for check in checks), strict=True))
        if checks
        else (0, 0, 0)
    )
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def brief(value: float, digits: int = 8) -> str:
    """A number with a few digits."""
    return number(value, digits) if math.isfinite(value) else number(value)


def found(findings: Sequence[Finding]) -> str:
    """What methods found, in words: `reverse mode gives 9; forward mode and complex step 6`, with
    as many digits as tell them apart; "" where no number was given."""
    findings = [
        f
        for f in findings
        if f.method != "rules" and (math.isfinite(f.theirs) or f.method == "taylor")
    ]
    if not findings:
        return ""
    digits = max(8 if f.method == "taylor" else _telling(f.ours, f.theirs) for f in findings)
    ours = dict.fromkeys(brief(f.ours, digits) + _at(f) for f in findings)
    said: dict[str, list[str]] = {}
    for f in findings:
        if f.method == "taylor":
            said.setdefault(f"of order {f.theirs:.2f}", []).append("the Taylor remainder is")
        else:
            said.setdefault(_their(f, digits), []).append(
                "what is given is" if f.method == "against" else METHODS[f.method]
            )
    return "; ".join(
        [
            f"reverse mode gives {' or '.join(ours)}",
            *(f"{_listed(names)} {value}" for value, names in said.items()),
        ]
    )


def _their(finding: Finding, digits: int) -> str:
    """What a method gives; beside a zero with the distance."""
    if finding.ours == 0 != finding.theirs:
        return f"{brief(finding.theirs)}, {abs(finding.theirs):.1g} apart"
    return brief(finding.theirs, digits)


def _telling(ours: float, theirs: float) -> int:
    """With how many digits, eight or more, two numbers differ."""
    return next((n for n in range(8, 18) if brief(ours, n) != brief(theirs, n)), 8)


def _at(finding: Finding) -> str:
    return (
        f" at {finding.where}" if finding.where and finding.where[0] not in " ." else finding.where
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def problems(check: Check) -> Iterator[Diagnostic]:
    """What failed: errors of the program, expectations, and gradients with the operation that is to
    blame."""
    yield from check.diagnostics
    yield from failures(check)


def failures(check: Check) -> Iterator[Diagnostic]:
    """What failed in a program that ran, each gradient once."""
    yield from (e.diagnostic for e in check.expectations if e.diagnostic)
    yield from dict.fromkeys(
        problem for result in check.results if (problem := problem_of(check, result)) is not None
    )
    if check.nothing is not None:
        yield check.nothing


def problem_of(check: Check, result: Result) -> Diagnostic | None:
    """Why a gradient makes the check fail; None where it doesn't."""
    verdict = result.verdict
    if not check.fails(verdict):
        return None
    what = label(result.output, result.variable, result.order)
    if verdict in ("wrong", "nonfinite"):
        point, wrong = next(
            (point, wrong)
            for point, findings in result.points.items()
            if (wrong := [f for f in findings if f.verdict == "disagree"])
        )
        return _wrong(check, what + (f" at point {point}" if point else ""), wrong)
    reason = "; ".join(result.reasons[:3]) or "no method applies"
    said = "is at a kink" if verdict == "kink" else "is undecided"
    return Diagnostic("E604", f"{what} {said}: {reason}", result.findings[0].span)


def _wrong(check: Check, what: str, wrong: list[Finding]) -> Diagnostic:
    first = wrong[0]
    if first.method == "finite":
        message = f"{what}{first.where} can't be verified: {first.reason}"
        return Diagnostic("E610", message, first.span, help=_NONFINITE_HELP)
    if all(f.method == "against" for f in wrong):
        message = f"{what} isn't what was given"
        said = "; ".join(part for part in (found(wrong), first.reason) if part)
        return Diagnostic("E603", f"{message}: {said}", first.span)
    wrong = [f for f in wrong if f.method != "against"]
    said = found([f for f in wrong if f.method in METHODS]) or first.reason
    if first.method == "rules":
        at = f" at point {first.point}" if first.point else ""
        what, said = (
            f"a derivative that the program asks for{at}",
            "an operation's rule isn't its derivative",
        )
    message = f"{what} is wrong: {said}"
    blamed = next((b for b in check.blamed if b.output == first.output), None)
    if blamed is None:
        return Diagnostic(
            "E602", message, first.span, "" if first.reason in message else first.reason
        )
    return Diagnostic("E602", message, blamed.span, accused(blamed), calls=blamed.calls)


def accused(blamed: Blame) -> str:
    """What is wrong with an operation's rule."""
    if blamed.fault:
        return blamed.fault
    times = f"{blamed.factor + 0.0:.10g} times" if math.isfinite(blamed.factor) else "something for"
    digits = _telling(blamed.ours, blamed.theirs)
    ours, theirs = brief(blamed.ours, digits), brief(blamed.theirs, digits)
    said = f"the rule of `{blamed.operation}` gives {times} what the operation itself says"
    return f"{said}: {ours} for {theirs}, at {blamed.operands}"
