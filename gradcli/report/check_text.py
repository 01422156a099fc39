"""`check --format text`: a table with a row a derivative and a column a method, and what there is to say about it.

    samples/rosenbrock.tg
              reverse mode   forward mode   complex step   differences   Taylor order
      ∂f/∂x         -215.6      ✓ 0 ulps       ✓ 1 ulp       ✓ 2e-14         ✓ 2.00

A cell has the verdict (✓ agree, ✗ disagree, ? inconclusive, · doesn't apply) and how far the method is from reverse mode:
in units of the last place, or, for differences, relatively; for the Taylor remainder it has its order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import render as draw
from . import Style
from .checks import METHODS, brief, failures, label, place_label, summary

if TYPE_CHECKING:
    from ..diagnostics import Span
    from ..tasks.check.results import Check, Finding

_MARKS = {"agree": "✓", "disagree": "✗", "inconclusive": "?", "skipped": "·"}
_COLORS = {"agree": "\x1b[32m", "disagree": "\x1b[1;31m", "inconclusive": "\x1b[33m", "skipped": "\x1b[2m"}
_OFF = "\x1b[0m"


def render(checks: Sequence[Check], style: Style) -> str:
    parts = ["\n".join(_file(check, style)) + "\n" for check in checks]
    return "\n".join(parts) + ("\n" if len(parts) > 1 else "") + summary(checks) + "\n"


def _file(check: Check, style: Style) -> Iterator[str]:
    yield check.file
    yield from _table(check, style)
    if check.expectations:
        held = sum(e.passed for e in check.expectations)
        yield f"  {held} of {len(check.expectations)} expectations held"
    yield from (f"  {line}" for line in _remarks(check))
    for problem in failures(check):
        yield draw(problem, style.color)


def _table(check: Check, style: Style) -> Iterator[str]:
    rows: dict[tuple[str, str, int, int], dict[str, Finding]] = {}
    for finding in check.findings:
        rows.setdefault((finding.output, finding.variable, finding.order, finding.point), {})[finding.method] = finding
    if not rows:
        return
    methods = [m for m in METHODS if any(m in row for row in rows.values())]
    lines = [["", "reverse mode", *(METHODS[m] for m in methods)]]
    verdicts: list[list[str]] = [[]]
    for (_, variable, _, point), row in rows.items():
        at = f" at point {point}" if point else ""
        first = next((f for f in row.values() if not f.where.startswith(" ")), next(iter(row.values())))
        name = place_label(first) + at
        cells = [_cell(row[m]) if m in row else "" for m in methods]
        lines.append([name, brief(first.ours) if variable else "", *cells])
        verdicts.append([row[m].verdict if m in row else "" for m in methods])
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line, verdict in zip(lines, verdicts, strict=True):
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        if style.color:
            cells[2:] = [
                f"{_COLORS[v]}{c}{_OFF}" if v else c for c, v in zip(cells[2:], verdict or [""] * len(methods), strict=True)
            ]
        yield ("  " + "  ".join(cells)).rstrip()


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
    size = max(abs(finding.ours), abs(finding.theirs))
    if finding.method == "differences" or finding.ulps > 1e4:
        return f"{mark} {abs(finding.ours - finding.theirs) / size if size else 0.0:.0e}"
    return f"{mark} {finding.ulps:.3g} ulp{'' if finding.ulps == 1 else 's'}"


def _remarks(check: Check) -> Iterator[str]:
    """Why methods say nothing, where the kinks are, and which path was taken."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for f in check.findings:
        if f.reason and (f.verdict != "agree" or f.method in ("complex", "sympy")):
            reasons.setdefault((f.reason, _MARKS[f.verdict]), []).append(METHODS[f.method])
    for (reason, mark), methods in reasons.items():
        yield f"{mark} {', '.join(dict.fromkeys(methods))}: {reason}"
    yield from check.notes
    for kink in check.kinks:
        sides = f"{brief(kink.left)} to the left, {brief(kink.right)} to the right"
        place = f"kink of `{kink.operation}` in line {kink.span.line} (at {kink.operand})"
        yield f"{place}: {label(kink.output, kink.variable)} is {sides}"
    for branch in check.path.branches:
        times = _times(branch.held, branch.failed)
        flips = ", ".join(f"{name} moves by {d:.3g}" for name, d in branch.distance.items())
        yield f"line {branch.span.line}: `{_text(branch.span)}` {times}{f'; flips when {flips}' if flips else ''}"
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
