"""Texts with values: `f"x = {x:.3f}"`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Span
from ...lang import program
from ..backends.backend import shape_of
from ..compilation.compiler import Closure, Compiler
from ..operations.rows.separation import uniform_value
from ..trace.run import Run
from ..values.boxes import primal
from ..values.kinds import List, deeper, describe, is_number, map_structure, read, show
from ..values.lanes import Lanes


def compile_text(c: Compiler, node: program.Text) -> Closure:
    """The closure of a text as a value, which must be one for all rows that run together."""
    return _closure(c, node, lambda run, value: map_structure(lambda v: _one(run, v), value))


def compile_shown(c: Compiler, node: program.Expression) -> Closure:
    """The closure of what `print` and `expect` show: in a text, rows stand side by side, as they do
    without one."""
    if isinstance(node, program.Text):
        return _closure(c, node, lambda run, value: value)
    return c.expression(node)


def _closure(c: Compiler, node: program.Text, taken: Callable[[Run, Any], Any]) -> Closure:
    parts: list[str | tuple[Closure, str, Span]] = [
        part if isinstance(part, str) else (c.value(part.value), part.format, part.span)
        for part in node.parts
    ]

    def text(frame: list[Any]) -> str:
        run, found = frame[0], []
        for part in parts:
            if isinstance(part, str):
                found.append(part)
            else:
                value, format, span = part
                found.append(formatted(run, taken(run, value(frame)), format, span))
        return "".join(found)

    return text


def _one(run: Run, value: Any) -> Any:
    return uniform_value(run, primal(read(value)))


def formatted(run: Run, value: Any, format_: str, span: Span, depth: int = 0) -> str:
    """A value as a field of a text shows it: as `print` does, or each of its numbers in a format.
    Raises GradcliError (E311) where a format doesn't fit what the value is."""
    if not format_:
        return show(value)
    value = primal(read(value))
    if type(value) is List:
        inner = deeper(depth)
        return f"[{', '.join([formatted(run, item, format_, span, inner) for item in value])}]"
    if type(value) is Lanes:
        value = value.rows_first()
    if shape_of(value):
        array = run.backend.to_host(value)
        import numpy

        each: Any = {"all": lambda item: _number(run, item.item(), format_, span)}
        return numpy.array2string(array, formatter=each)
    if is_number(value) and type(value) is not bool:
        number = value.item() if hasattr(value, "item") else value
        return _number(run, number, format_, span)
    return _checked(run, value, format_, span)


def _number(run: Run, number: Any, format_: str, span: Span) -> str:
    return _checked(run, number, format_, span).strip("()")


def _checked(run: Run, value: Any, format_: str, span: Span) -> str:
    if isinstance(value, int | float | complex | str):
        try:
            return format(show(value) if type(value) is bool else value, format_)
        except ValueError:
            pass
    help = "a whole number without decimals is `.0f`" if "d" in format_ else "leave out the format"
    run.fail("E311", f"`{format_}` is no format for {describe(value)}", span, help=help)
