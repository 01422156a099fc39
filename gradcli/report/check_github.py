"""`check --format github`: workflow commands that GitHub shows as annotations on the lines
concerned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..diagnostics import printable
from .annotations import annotation, message_text, property_text
from .checks import label, problems, proved, summary
from .style import Style

if TYPE_CHECKING:
    from ..tasks.check.results import Check


def render(checks: Sequence[Check], style: Style) -> str:
    lines = []
    for check in checks:
        lines += [annotation(check.file, problem) for problem in problems(check)]
        for kink in check.kinks:
            message = (
                f"{label(kink.output, kink.variable)} has a kink here: {kink.left:.6g} to the "
                f"left, {kink.right:.6g} to the right"
            )
            span = kink.span
            place = f"file={property_text(span.source.name)},line={span.line},col={span.column}"
            lines.append(
                f"::notice {place},title=kink of "
                f"{property_text(kink.operation)}::{message_text(printable(message))}"
            )
    return "\n".join([*lines, proved(checks), summary(checks)]) + "\n"
