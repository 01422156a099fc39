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

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..diagnostics import printable
from ..diagnostics import render as draw
from .check_rows import (
    MARKS,
    Row,
    branch_said,
    held,
    kink_said,
    methods_of,
    remarks,
    rows,
    valid_said,
)
from .checks import METHODS, failures, proved, summary
from .style import Style

if TYPE_CHECKING:
    from ..tasks.check.results import Check

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
        f"  {MARKS['disagree']} {d.code}: {printable(d.message)}"
        for d in check.diagnostics
        if d.severity == "error"
    )
    yield from _table(rows(check), style)
    if check.expectations:
        yield f"  {held(check)}"
    said = [
        *remarks(check),
        *map(kink_said, check.kinks),
        *map(branch_said, check.path.branches),
        *valid_said(check.path),
    ]
    yield from (f"  {printable(line)}" for line in said)
    for problem in failures(check):
        yield draw(problem, style.color)


def _table(rows: list[Row], style: Style) -> Iterator[str]:
    if not rows:
        return
    methods = methods_of(rows)
    lines = [["", "reverse mode", *(METHODS[m] for m in methods), ""]]
    lines += [[printable(r.label), r.ours, *(r.cell(m) for m in methods), r.proof] for r in rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for k, line in enumerate(lines):
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:], strict=False)),
        ]
        if style.color and k:
            verdicts = [rows[k - 1].verdict_of(m) for m in methods]
            cells[2:] = [
                f"{_COLORS[v]}{c}{_OFF}" if v else c
                for c, v in zip(cells[2:], verdicts, strict=True)
            ]
        yield ("  " + "  ".join([*cells, line[-1]])).rstrip()
