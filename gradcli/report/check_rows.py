"""What the formats of `check` for people show of a file: a row a derivative, with a cell a method,
and remarks in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .checks import METHODS, brief, label, place_label

if TYPE_CHECKING:
    from ..tasks.check.results import Branch, Check, Finding, Kink, Path

MARKS = {"agree": "✓", "disagree": "✗", "inconclusive": "?", "skipped": "·"}
_PROOFS = {"kink": "at a kink", "nonfinite": "not finite", "allowed": "not finite"}


class Row(NamedTuple):
    """A derivative at one point: what reverse mode gives, what the methods say, its verdict, and
    that in a word or two, with the digits that are verified."""

    label: str
    ours: str
    findings: dict[str, Finding]
    verdict: str
    proof: str

    def cell(self, method: str) -> str:
        """What a method says: its mark, and how far it is from reverse mode."""
        return _cell(self.findings[method]) if method in self.findings else ""

    def verdict_of(self, method: str) -> str:
        return self.findings[method].verdict if method in self.findings else ""


def rows(check: Check) -> list[Row]:
    """A row a derivative, and one for each random point at which it isn't verified."""
    found = []
    for result in check.results:
        for point, verdict in result.verdicts.items():
            if point and verdict == "verified":
                continue
            findings = result.points[point]
            shown = next(
                (f for f in findings if f.method in METHODS and not f.where.startswith(" ")),
                findings[0],
            )
            name = place_label(shown) + (f" at point {point}" if point else "")
            is_plain = result.is_value and verdict == "verified"
            proof = "" if is_plain else _proof(verdict, result.digits)
            found.append(Row(name, _ours(shown), {f.method: f for f in findings}, verdict, proof))
    return found


def methods_of(rows: Sequence[Row]) -> list[str]:
    """The methods that say something in any of the rows."""
    return [m for m in METHODS if any(m in row.findings for row in rows)]


def _ours(shown: Finding) -> str:
    """The derivative at the place that a row is called by."""
    has_number = shown.method in METHODS and shown.method != "rules" and not math.isnan(shown.ours)
    return brief(shown.ours) if has_number else ""


def _proof(verdict: str, digits: int | None) -> str:
    """What becomes of a gradient, in a word or two."""
    if verdict == "verified":
        return "verified" if digits is None else f"{digits} digit{'s' * (digits != 1)}"
    return _PROOFS.get(verdict, verdict)


def _cell(finding: Finding) -> str:
    mark = MARKS[finding.verdict]
    if finding.verdict == "skipped":
        return mark
    if finding.method == "rules":
        return f"{mark} {finding.theirs:g}"
    if finding.method == "taylor":
        return (
            f"{mark} {finding.theirs:.2f}"
            if math.isfinite(finding.theirs)
            else f"{mark} exact"
            if math.isinf(finding.theirs)
            else mark
        )
    if not math.isfinite(finding.theirs):
        return mark
    if finding.verdict == "agree" and finding.written is not None:  # to which it is compared
        return f"{mark} {finding.written} digit{'' if finding.written == 1 else 's'}"
    size = max(abs(finding.ours), abs(finding.theirs))
    if finding.ours == 0 != finding.theirs:
        return f"{mark} {abs(finding.theirs):.0e} apart"
    if finding.method == "differences" or finding.ulps > 1e4:
        return f"{mark} {abs(finding.ours - finding.theirs) / size if size else 0.0:.0e}"
    return f"{mark} {finding.ulps:.3g} ulp{'' if finding.ulps == 1 else 's'}"


# ---- in words ------------------------------------------------------------------------------------


def held(check: Check) -> str:
    """How many expectations held."""
    count = sum(e.passed for e in check.expectations)
    return f"{count} of {len(check.expectations)} expectations held"


def remarks(check: Check) -> Iterator[str]:
    """Why methods say nothing, at which points, and what the check notes."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for f in check.findings:
        if f.reason and (f.verdict != "agree" or f.method in ("complex", "sympy")):
            reasons.setdefault((f.reason, MARKS[f.verdict]), []).append(METHODS.get(f.method, ""))
    for (reason, mark), methods in reasons.items():
        names = ", ".join(dict.fromkeys(filter(None, methods)))
        yield f"{mark} {names}{': ' if names else ''}{reason}"
    if check.points:
        failing = {
            f.point
            for r in check.results
            for f in r.findings
            if f.point and f.verdict == "disagree"
        }
        count = f"{len(check.points)} random point" + ("s" if len(check.points) > 1 else "")
        yield f"also at {count}" + (f", wrong at {len(failing)}" if failing else "")
    yield from check.notes


def kink_said(kink: Kink) -> str:
    """Where a kink is, and the slopes beside it."""
    place = f"kink of `{kink.operation}` in line {kink.span.line} (at {kink.operand})"
    return f"{place}: {slopes_said(kink)}"


def slopes_said(kink: Kink) -> str:
    """The slopes on both sides of a kink."""
    sides = f"{brief(kink.left)} to the left, {brief(kink.right)} to the right"
    return f"{label(kink.output, kink.variable)} is {sides}"


def branch_said(branch: Branch) -> str:
    """Where a condition is, how it was decided, and what flips it."""
    return f"line {branch.span.line}: `{branch.span.brief}` {decision_said(branch)}"


def decision_said(branch: Branch) -> str:
    """How a condition was decided, and what flips it."""
    flips = ", ".join(f"{name} moves by {d:.3g}" for name, d in branch.distance.items())
    return _times(branch.held, branch.failed) + (f"; flips when {flips}" if flips else "")


def valid_said(path: Path) -> Iterator[str]:
    """The intervals of the variables in which the same branches are taken."""
    for name, (low, low_in, high, high_in) in path.valid.items():
        interval = f"{'[' if low_in else '('}{low!r}, {high!r}{']' if high_in else ')'}"
        yield f"the same path for {name} in {interval}"


def _times(held: int, failed: int) -> str:
    if not failed:
        return "held" if held == 1 else f"held {held} times"
    if not held:
        return "didn't hold" if failed == 1 else f"never held, {failed} times"
    return f"held {held} time{'' if held == 1 else 's'}, and {failed} not"
