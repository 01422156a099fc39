"""`--show ir` and `--show llvm`: a program in the intermediate representation or as LLVM text, and
what of it isn't compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ..diagnostics import Diagnostic, GradcliError, Span, printable
from ..engine.regions.programs import Lowered, lower_program
from ..lang.program import Program


def list_regions(node: Program, inputs: Mapping[str, Any], form: Literal["ir", "llvm"]) -> str:
    """The region of a program as text, with comments: what its parameters and results are called,
    and for what is in no region, or has no machine code, the reason and its line. Of `inputs` only
    the types count.

    Raises GradcliError (E001) where LLVM isn't installed.
    """
    lowered = lower_program(node, inputs)
    names = ", ".join(lowered.parameters) or "nothing"
    results = ", ".join(lowered.results) or "nothing"
    lines = [f"; from {printable(names)} to {printable(results)}"]
    lines += [lowered.text.rstrip()] if form == "ir" else _llvm(lowered, node)
    lines += [_reason(reason.reason, reason.span, node) for reason in lowered.reasons]
    return "\n".join(lines)


def _llvm(lowered: Lowered, node: Program) -> Iterator[str]:
    try:
        from ..engine.codegen.llvm_blocks import NotNative, kernel_text
    except ImportError:
        help = "install it with `pip install llvmlite`"
        message = "--show llvm needs llvmlite, which isn't installed"
        raise GradcliError(Diagnostic("E001", message, help=help)) from None
    try:
        text, called = kernel_text(lowered.region, lowered.others)
        if called:
            yield f"; calls of Python: {', '.join(called)}"
        yield text.rstrip()
    except NotNative as reason:
        yield _reason(reason.reason, reason.span, node)


def _reason(reason: str, span: Span | None, node: Program) -> str:
    """A reason, with its line, and its file if it is in an imported one."""
    where = "" if span is None else f"line {span.line}: "
    if span is not None and span.source is not node.source:
        where = f"{printable(span.source.name)}, {where}"
    return f"; {where}{printable(reason)}"
