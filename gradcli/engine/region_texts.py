"""The regions of a program as text: in IR, or as LLVM gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ..diagnostics import Span
from ..lang.program import Program
from .ir.types import OF_DTYPE
from .lowering.programs import Lowered, lower_program


class RegionText(NamedTuple):
    """A program as a region.

    parameters, results  their names
    text                 of the region; empty if it has no machine code
    calls                the names of the Python functions that it calls
    reasons              why statements aren't in it, or why there is no machine code, each with its
                         place
    """

    parameters: list[str]
    results: list[str]
    text: str
    calls: list[str]
    reasons: list[tuple[str, Span | None]]


def region_text(
    node: Program, inputs: Mapping[str, Any], form: Literal["ir", "llvm"], dtype: str
) -> RegionText:
    """The region of a program in a form. Its floats are of a dtype; only the types of `inputs`
    count. Raises ImportError where LLVM isn't installed."""
    lowered = lower_program(node, inputs, real=OF_DTYPE[dtype])
    reasons = [(reason.reason, reason.span) for reason in lowered.reasons]
    text, calls = lowered.text, list[str]()
    if form == "llvm":
        text, calls, more = _llvm(lowered)
        reasons = [*more, *reasons]
    return RegionText(list(lowered.parameters), list(lowered.results), text, calls, reasons)


def _llvm(lowered: Lowered) -> tuple[str, list[str], list[tuple[str, Span | None]]]:
    from .codegen.llvm.kernels import kernel_text
    from .codegen.scalars import NotNative

    try:
        text, each_text, calls, _ = kernel_text(lowered.region, lowered.others)
    except NotNative as reason:
        return "", [], [(reason.reason, reason.span)]
    names = [call if isinstance(call, str) else call.name for call in calls]
    return text + each_text, list(dict.fromkeys(names)), []
