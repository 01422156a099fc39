"""`--show ir` and `--show llvm`: a program in the intermediate representation or as LLVM text, and
what of it isn't compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ..diagnostics import Diagnostic, GradcliError, Span, printable
from ..engine.region_texts import region_text
from ..lang.program import Program


def list_regions(
    node: Program, inputs: Mapping[str, Any], form: Literal["ir", "llvm"], dtype: str
) -> str:
    """The region of a program as text, with comments: what its parameters and results are called,
    and for what is in no region, or has no machine code, the reason and its line. Of `inputs` only
    the types count.

    Raises GradcliError (E001) where LLVM isn't installed.
    """
    try:
        found = region_text(node, inputs, form, dtype)
    except ImportError:
        help = "install it with `pip install llvmlite`"
        message = "--show llvm needs llvmlite, which isn't installed"
        raise GradcliError(Diagnostic("E001", message, help=help)) from None
    names, results = (", ".join(each) or "nothing" for each in (found.parameters, found.results))
    lines = [f"; from {printable(names)} to {printable(results)}"]
    lines += [f"; calls of Python: {', '.join(found.calls)}"] if found.calls else []
    lines += [found.text.rstrip()] if found.text else []
    lines += [f"; {reason_of(reason, span, node)}" for reason, span in found.reasons]
    return "\n".join(lines)


def reason_of(reason: str, span: Span | None, node: Program) -> str:
    """Why something isn't compiled, with its line, and its file if it is in an imported one."""
    where = "" if span is None else f"line {span.line}: "
    if span is not None and span.source is not node.source:
        where = f"{printable(span.source.name)}, {where}"
    return f"{where}{printable(reason)}"
