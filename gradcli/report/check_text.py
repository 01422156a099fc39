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

import sys
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
from .checks import METHODS, SHORT, failures, proved, summary
from .fitting import GAP, shortened, widths_of, wrapped
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
        + "".join(f"{line}\n" for line in wrapped(proved(checks), style.width))
        + f"{summary(checks)}\n"
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
    for line in said:
        yield from wrapped(printable(line), style.width, "  ")
    for problem in failures(check):
        yield draw(problem, style.color)


def _table(rows: list[Row], style: Style) -> Iterator[str]:
    """A row a derivative and a column a method, with short headings where that fits, or else a
    block a derivative and a line a method."""
    if not rows:
        return
    methods = methods_of(rows)
    cells = [[printable(r.label), r.ours, *(r.cell(m) for m in methods), r.proof] for r in rows]
    for ours, names in (("reverse mode", METHODS), ("reverse", SHORT)):
        lines = [["", ours, *(names[m] for m in methods), ""], *cells]
        widths = widths_of(lines)
        if style.width is None or sum(widths) + GAP * len(widths) <= style.width:
            yield from _drawn(lines, widths, rows, methods, style)
            return
    for row in rows:
        yield from _block(row, methods, style)


def _drawn(
    lines: list[list[str]], widths: list[int], rows: list[Row], methods: list[str], style: Style
) -> Iterator[str]:
    for k, line in enumerate(lines):
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:], strict=False)),
        ]
        if k:
            cells[2:] = [
                _painted(cell, rows[k - 1].verdict_of(m), style)
                for cell, m in zip(cells[2:], methods, strict=True)
            ]
        yield ("  " + "  ".join([*cells, line[-1]])).rstrip()


def _block(row: Row, methods: list[str], style: Style) -> Iterator[str]:
    """A derivative by itself: its name, and a line each for what reverse mode and the methods
    say."""
    said = {"reverse mode": (row.ours, "")} | {
        METHODS[m]: (row.cell(m), row.verdict_of(m)) for m in methods if row.cell(m)
    }
    yield shortened(f"  {printable(row.label)}", style.width or sys.maxsize)
    width = max(map(len, said))
    for name, (cell, verdict) in said.items():
        yield f"    {name.ljust(width)}  {_painted(cell, verdict, style)}"
    if row.proof:
        yield f"    {row.proof}"


def _painted(cell: str, verdict: str, style: Style) -> str:
    return f"{_COLORS[verdict]}{cell}{_OFF}" if style.color and verdict else cell
