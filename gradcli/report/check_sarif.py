"""`check --format sarif`: SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .checks import label, problems
from .sarif import log_of, place, result_of
from .style import Style

if TYPE_CHECKING:
    from ..tasks.check.results import Check

_RULES = {
    "E601": "An expectation failed.",
    "E602": "A gradient is wrong.",
    "E603": "A gradient isn't what was given.",
    "E604": "Whether a gradient is right can't be told.",
    "E610": "What is to be compared isn't finite.",
    "E611": "Nothing was verified.",
    "E612": "The program fails at a random point.",
    "kink": "A derivative jumps.",
}


def render(checks: Sequence[Check], style: Style) -> str:
    return log_of([result for check in checks for result in _results(check)], _RULES)


def _results(check: Check) -> Iterator[dict[str, Any]]:
    for problem in problems(check):
        yield result_of(check.file, problem)
    for kink in check.kinks:
        text = (
            f"{label(kink.output, kink.variable)} is {kink.left:.6g} to the left and "
            f"{kink.right:.6g} to the right"
        )
        yield {
            "ruleId": "kink",
            "level": "note",
            "message": {"text": text},
            "locations": [place(kink.span)],
        }
