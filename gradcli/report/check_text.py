"""`check --format text`: a table with a row a derivative and a column a method, and what there is
to say about it.

    samples/rosenbrock.tg
              reverse mode   forward mode   complex step   differences   Taylor order
      ∂f/∂x         -215.6      ✓ 0 ulps       ✓ 1 ulp       ✓ 2e-14         ✓ 2.00   11 digits
    1 of 1 gradients verified by independent methods, 0 undecided
    1 passed, 0 failed, 0 skipped

A cell has the verdict (✓ agree, ✗ disagree, ? inconclusive, · doesn't apply) and how far the method
is from reverse mode: in units of the last place, or, for differences, relatively; for the Taylor
remainder it has its order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import printable
from ..diagnostics import render as draw
from .checks import METHODS, brief, failures, label, place_label, proved, summary
from .style import Style

if TYPE_CHECKING:
    from ..diagnostics import Span
    from ..tasks.check.results import Check, Finding

_MARKS = {"agree": "✓", "disagree": "✗", "inconclusive": "?", "skipped": "·"}
_COLORS = {
    "agree": "\x1b[32m",
    "disagree": "\x1b[1;31m",
    "inconclusive": "\x1b[33m",
    "skipped": "\x1b[2m",
}
_OFF = "\x1b[0m"


def render(checks: Sequence[Check], style: Style) -> str:
    parts = ["\n".join(_file(check, style)) + "\n" for check in checks]
    return (
        "\n".join(parts)
        + ("\n" if len(parts) > 1 else "")
        + f"{proved(checks)}\n{summary(checks)}\n"
    )


def _file(check: Check, style: Style) -> Iterator[str]:
    yield printable(check.file)
    yield from (
        f"  {_MARKS['disagree']} {d.code}: {printable(d.message)}"
        for d in check.diagnostics
        if d.severity == "error"
    )
    yield from _table(check, style)
    if check.expectations:
        held = sum(e.passed for e in check.expectations)
        yield f"  {held} of {len(check.expectations)} expectations held"
    yield from (f"  {printable(line)}" for line in _remarks(check))
    for problem in failures(check):
        yield draw(problem, style.color)


def _table(check: Check, style: Style) -> Iterator[str]:
    """A row a gradient, and one for each random point at which it isn't verified."""
    rows: list[tuple[str, dict[str, Finding], str]] = []
    for result in check.results:
        for point, verdict in result.verdicts.items():
            findings = result.points[point]
            if point and verdict == "verified":
                continue
            row = {f.method: f for f in findings}
            shown = next(
                (f for f in findings if f.method in METHODS and not f.where.startswith(" ")),
                findings[0],
            )
            name = place_label(shown) + (f" at point {point}" if point else "")
            proof = (
                "" if result.is_value and verdict == "verified" else _proof(verdict, result.digits)
            )
            rows.append((printable(name), row, proof))
    if not rows:
        return
    methods = [m for m in METHODS if any(m in row for _, row, _ in rows)]
    lines = [["", "reverse mode", *(METHODS[m] for m in methods), ""]]
    for name, row, proof in rows:
        first = next((f for f in row.values() if f.method in METHODS and f.method != "rules"), None)
        cells = [_cell(row[m]) if m in row else "" for m in methods]
        ours = "" if first is None or math.isnan(first.ours) else brief(first.ours)
        lines.append([name, ours, *cells, proof])
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for k, line in enumerate(lines):
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:], strict=False)),
        ]
        if style.color and k:
            row = rows[k - 1][1]
            verdicts = [row[m].verdict if m in row else "" for m in methods]
            cells[2:] = [
                f"{_COLORS[v]}{c}{_OFF}" if v else c
                for c, v in zip(cells[2:], verdicts, strict=True)
            ]
        yield ("  " + "  ".join([*cells, line[-1]])).rstrip()


_PROOFS = {"kink": "at a kink", "nonfinite": "not finite", "allowed": "not finite"}


def _proof(verdict: str, digits: int | None) -> str:
    """What becomes of a gradient, in a word or two."""
    if verdict == "verified":
        return "verified" if digits is None else f"{digits} digits"
    return _PROOFS.get(verdict, verdict)


def _cell(finding: Finding) -> str:
    mark = _MARKS[finding.verdict]
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


def _remarks(check: Check) -> Iterator[str]:
    """Why methods say nothing, where the kinks are, and which path was taken."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for f in check.findings:
        if f.reason and (f.verdict != "agree" or f.method in ("complex", "sympy")):
            reasons.setdefault((f.reason, _MARKS[f.verdict]), []).append(METHODS.get(f.method, ""))
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
    for kink in check.kinks:
        sides = f"{brief(kink.left)} to the left, {brief(kink.right)} to the right"
        place = f"kink of `{kink.operation}` in line {kink.span.line} (at {kink.operand})"
        yield f"{place}: {label(kink.output, kink.variable)} is {sides}"
    for branch in check.path.branches:
        times = _times(branch.held, branch.failed)
        flips = ", ".join(f"{name} moves by {d:.3g}" for name, d in branch.distance.items())
        yield (
            f"line {branch.span.line}: `{_text(branch.span)}` "
            f"{times}{f'; flips when {flips}' if flips else ''}"
        )
    for name, (low, low_in, high, high_in) in check.path.valid.items():
        interval = f"{'[' if low_in else '('}{low!r}, {high!r}{']' if high_in else ')'}"
        yield f"the same path for {name} in {interval}"


def _times(held: int, failed: int) -> str:
    if not failed:
        return "held" if held == 1 else f"held {held} times"
    if not held:
        return "didn't hold" if failed == 1 else f"never held, {failed} times"
    return f"held {held} time{'' if held == 1 else 's'}, and {failed} not"


def _text(span: Span) -> str:
    text = " ".join(span.text.split())
    return text if len(text) <= 60 else text[:57] + "…"
