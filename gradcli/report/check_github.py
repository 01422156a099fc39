"""`check --format github`: workflow commands that GitHub shows as annotations on the lines
concerned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..diagnostics import printable
from .checks import label, problems, proved, summary
from .style import Style

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..tasks.check.results import Check


def render(checks: Sequence[Check], style: Style) -> str:
    lines = []
    for check in checks:
        lines += [_annotation(check.file, problem) for problem in problems(check)]
        for kink in check.kinks:
            message = (
                f"{label(kink.output, kink.variable)} has a kink here: {kink.left:.6g} to the "
                f"left, {kink.right:.6g} to the right"
            )
            span = kink.span
            place = f"file={_property(span.source.name)},line={span.line},col={span.column}"
            lines.append(
                f"::notice {place},title=kink of "
                f"{_property(kink.operation)}::{_text(printable(message))}"
            )
    return "\n".join([*lines, proved(checks), summary(checks)]) + "\n"


def _annotation(file: str, problem: Diagnostic) -> str:
    place = f"file={_property(problem.span.source.name if problem.span else file)}"
    if problem.span is not None:
        place += f",line={problem.span.line},col={problem.span.column}"
    parts = [problem.message, problem.label, f"help: {problem.help}" if problem.help else ""]
    level = "warning" if problem.severity == "warning" else "error"
    return (
        f"::{level} "
        f"{place},title={problem.code}::{_text(chr(10).join(printable(p) for p in parts if p))}"
    )


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(printable(text)).replace(":", "%3A").replace(",", "%2C")
