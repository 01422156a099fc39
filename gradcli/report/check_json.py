"""`check --format json`: one object a file, an array of them for several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .checks import problems
from .json import document
from .style import Style
from .values import plain

if TYPE_CHECKING:
    from ..diagnostics import Span
    from ..tasks.check.results import Check


def render(checks: Sequence[Check], style: Style) -> str:
    return document(map(as_object, checks))


def as_object(check: Check) -> dict[str, Any]:
    """The check as the JSON format prints it."""
    passed, failed, skipped = check.counts()
    return {
        "file": check.file,
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "gradients": [
            {
                "output": r.output,
                "variable": r.variable,
                "order": r.order,
                "verdict": r.verdict,
                "digits": r.digits,
                "reasons": r.reasons,
                "methods": [
                    {
                        "method": f.method,
                        "point": f.point,
                        "verdict": f.verdict,
                        "reason": f.reason,
                        "where": f.where.strip(),
                        "reverse": _number(f.ours),
                        "value": _number(f.theirs),
                        "error": plain(f.error),
                        "tolerance": plain(f.tolerance),
                        "ulps": plain(f.ulps),
                        **({"digits": f.written} if f.method == "against" else {}),
                    }
                    for f in r.findings
                ],
            }
            for r in check.results
        ],
        "blamed": [
            {
                "output": b.output,
                "operation": b.operation,
                **_place(b.span),
                "rule": plain(b.ours),
                "operation_itself": plain(b.theirs),
                "factor": plain(b.factor),
                "operands": b.operands,
            }
            for b in check.blamed
        ],
        "kinks": [
            {
                "output": k.output,
                "variable": k.variable,
                "operation": k.operation,
                **_place(k.span),
                "operand": k.operand,
                "left": plain(k.left),
                "right": plain(k.right),
            }
            for k in check.kinks
        ],
        "path": {
            "branches": [
                {
                    "condition": b.span.text,
                    **_place(b.span),
                    "held": b.held,
                    "failed": b.failed,
                    "distance": plain(b.distance),
                }
                for b in check.path.branches
            ],
            "valid": {
                name: {
                    "low": plain(low),
                    "low_included": low_in,
                    "high": plain(high),
                    "high_included": high_in,
                }
                for name, (low, low_in, high, high_in) in check.path.valid.items()
            },
        },
        "points": [plain(point) for point in check.points],
        "notes": check.notes,
        "expectations": [
            {"line": e.line, "passed": e.passed, "message": e.message} for e in check.expectations
        ],
        "diagnostics": [d.as_json() for d in problems(check)],
    }


def _number(value: float) -> Any:
    """A number of a finding; null where it has none."""
    return None if math.isnan(value) else plain(value)


def _place(span: Span) -> dict[str, Any]:
    line, column = span.source.position(span.start)
    return {"file": span.source.name, "line": line, "column": column}
