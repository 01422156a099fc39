"""Values that are written on the command line: constant expressions of the language."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Diagnostic, GradcliError, Source
from ..engine.execution import Execution, compile_program
from ..engine.values.contents import plain
from ..engine.values.kinds import describe, is_callable
from ..lang.parser import parse
from ..lang.resolve import resolve
from .evaluation import Options


def constant(text: str, name: str) -> Any:
    """The value of a literal from the command line: a constant expression of the language, without
    names from outside.

    Raises GradcliError (E005), with the text itself as the source of the excerpt.
    """
    source = Source(f"<{name}>", text)
    try:
        node = resolve(parse(source), source)
        if not node.is_expression or node.names.keys() - {result for result, _ in node.results}:
            raise GradcliError(
                Diagnostic("E005", f"the value given for `{name}` isn't a constant: {text[:80]}")
            )
        settings = Options(max_steps=1000, max_memory=2**30).settings
        execution = Execution(compile_program(settings, node), {}).execute()
        value = plain(execution.outputs["result"])
        if is_callable(value):
            raise GradcliError(
                Diagnostic(
                    "E005",
                    f"the value given for `{name}` is {describe(value)}",
                    help="give a number or a list",
                )
            )
        return value
    except GradcliError as error:
        if error.diagnostics[0].code == "E005":
            raise
        first = error.diagnostics[0]
        help = first.help or (
            "a value is a literal such as 3, 2*pi or [[1, 2], [3, 4]]; text goes in quotes, "
            "a file is @FILE"
        )
        message = f"the value given for `{name}` isn't a constant: {first.message}"
        raise GradcliError(Diagnostic("E005", message, first.span, first.label, help)) from None
