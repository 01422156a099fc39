"""`--show ir`: a program in the intermediate representation, and what of it isn't compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import printable
from ..engine.regions.programs import lower_program
from ..lang.program import Program


def list_regions(node: Program, inputs: Mapping[str, Any]) -> str:
    """The region of a program as text, with comments: what its parameters and results are called,
    and for what is in no region the reason and its line. Of `inputs` only the types count."""
    lowered = lower_program(node, inputs)
    names = ", ".join(lowered.parameters) or "nothing"
    results = ", ".join(lowered.results) or "nothing"
    lines = [f"; from {printable(names)} to {printable(results)}", lowered.text.rstrip()]
    for reason in lowered.reasons:
        where = "" if reason.span is None else f"line {reason.span.line}: "
        lines.append(f"; {where}{printable(reason.reason)}")
    return "\n".join(lines)
