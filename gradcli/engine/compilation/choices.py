"""Values that decide an index, a shape or a count. No gradient passes them, and `why` has to say
so."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Span
from ..trace.keeping import KeepingTrace
from ..values.kinds import leaves, read
from .compiler import Closure, Compiler


def deciding(c: Compiler, closure: Closure, span: Span) -> Closure:
    """The closure of a value that decides an index, a shape or a count; the trace notes the value
    if it keeps everything."""
    if not c.keeps_all:
        return closure

    def noted(frame: list[Any]) -> Any:
        value = closure(frame)
        for part in map(read, leaves(value)):
            if type(part) is tuple and isinstance(trace := part[2].trace, KeepingTrace):
                trace.choices.append((part, span))
        return value

    return noted
