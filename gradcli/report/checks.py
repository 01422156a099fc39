"""What the formats of `check` share: labels of derivatives, and what went wrong as diagnostics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import Diagnostic
from .text import number, operand

if TYPE_CHECKING:
    from ..tasks.check.results import Blame, Check, Finding

METHODS = {
    "forward": "forward mode",
    "complex": "complex step",
    "differences": "differences",
    "taylor": "Taylor order",
    "sympy": "SymPy",
    "against": "given",
    "rules": "rules",
}


def label(output: str, variable: str, order: int = 1) -> str:
    """`∂f/∂x`, `∂²f/∂x²`, `∂²f/∂x∂z`; without a variable the name itself."""
    if not variable:
        return output
    if order == 2:
        first, comma, second = _halves(variable)
        if comma:
            return f"∂²{operand(output)}/∂{operand(first)}∂{'(all others)' if second == '*' else operand(second)}"
        return f"∂²{operand(output)}/∂{operand(variable)}²"
    return f"∂{operand(output)}/∂{operand(variable)}"


def _halves(pair: str) -> tuple[str, str, str]:
    """Both names of `x,z` or `x[0,1],z[2]`, and what stands between: nothing where it is one name."""
    pieces = pair.split(",")
    for k in range(1, len(pieces)):
        first, second = ",".join(pieces[:k]), ",".join(pieces[k:])
        if first.count("[") == first.count("]"):
            return first, ",", second
    return pair, "", ""


def place_label(finding: Finding) -> str:
    """The label of a derivative by one element, where it is one that is shown."""
    if not finding.where or finding.where.startswith(" "):
        return label(finding.output, finding.variable, finding.order)
    if finding.where.startswith(("[", ".")):
        return label(finding.output, finding.variable, finding.order) + finding.where
    return label(finding.output, finding.where, finding.order)


def summary(checks: Sequence[Check]) -> str:
    """The last line: `12 passed, 0 failed, 1 skipped`."""
    passed, failed, skipped = (
        (sum(counts) for counts in zip(*(check.counts() for check in checks), strict=True)) if checks else (0, 0, 0)
    )
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def brief(value: float) -> str:
    """A number with eight digits."""
    return number(value, 8) if math.isfinite(value) else number(value)


def found(findings: Sequence[Finding]) -> str:
    """What methods found, in words: `reverse mode gives 9; forward mode and the complex step 6`."""
    ours = dict.fromkeys(brief(f.ours) + _at(f) for f in findings)
    said: dict[str, list[str]] = {}
    for f in findings:
        if f.method == "taylor":
            said.setdefault(f"of order {f.theirs:.2f}", []).append("the Taylor remainder is")
        else:
            said.setdefault(brief(f.theirs), []).append("the file" if f.method == "against" else METHODS[f.method])
    return "; ".join([f"reverse mode gives {' or '.join(ours)}", *(f"{_listed(names)} {value}" for value, names in said.items())])


def _at(finding: Finding) -> str:
    return f" at {finding.where}" if finding.where and finding.where[0] not in " ." else finding.where


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def problems(check: Check) -> Iterator[Diagnostic]:
    """What failed: errors of the program, expectations, and gradients with the operation that is to blame."""
    yield from check.diagnostics
    yield from failures(check)


def failures(check: Check) -> Iterator[Diagnostic]:
    """What failed in a program that ran."""
    yield from (e.diagnostic for e in check.expectations if e.diagnostic)
    told = set()
    for finding in check.findings:
        if finding.verdict != "disagree" and (check.lenient or finding.verdict != "inconclusive"):
            continue
        key = finding.output, finding.variable, finding.order, finding.point, finding.method == "against", finding.verdict
        if key in told:
            continue
        told.add(key)
        same = [f for f in check.findings if (f.output, f.variable, f.order, f.point) == key[:4] and f.verdict == finding.verdict]
        yield _problem(check, finding, [f for f in same if (f.method == "against") == key[4]])


def problem_of(check: Check, output: str, variable: str) -> Diagnostic | None:
    """What is wrong with the gradient of one output by one variable; None if nothing is."""
    wrong = [f for f in check.findings if (f.output, f.variable, f.verdict) == (output, variable, "disagree")]
    return _problem(check, wrong[0], wrong) if wrong else None


def _problem(check: Check, first: Finding, all_of_it: list[Finding]) -> Diagnostic:
    what = label(first.output, first.variable, first.order)
    at = f" at point {first.point}" if first.point else ""
    if first.verdict == "inconclusive":
        return Diagnostic("E604", f"{what}{at} can't be told: {first.reason}", first.span)
    said = found(all_of_it)
    if first.method == "against":
        return Diagnostic("E603", f"{what}{at} isn't what was given: {said}", first.span, first.reason)
    if first.method == "rules":
        what, said = "a derivative that the program asks for", "an operation's rule isn't its derivative"
    blamed = next((b for b in check.blamed if b.output == first.output), None)
    message = f"{what}{at} is wrong: {said}"
    if blamed is None:
        return Diagnostic("E602", message, first.span, first.reason)
    return Diagnostic("E602", message, blamed.span, accused(blamed), calls=blamed.calls)


def accused(blamed: Blame) -> str:
    """What is wrong with an operation's rule."""
    times = f"{blamed.factor:.10g} times" if math.isfinite(blamed.factor) else "something for"
    ours, theirs = brief(blamed.ours), brief(blamed.theirs)
    said = f"the rule of `{blamed.operation}` gives {times} what the operation itself says"
    return f"{said}: {ours} for {theirs}, at {blamed.operands}"
