"""Values that are written on the command line: constant expressions of the language."""

from __future__ import annotations

import os
import re
from typing import Any

from ..diagnostics import Diagnostic, GradcliError, Source
from ..engine.execution import Execution, compile_program
from ..engine.values.contents import plain
from ..engine.values.kinds import describe, is_callable
from ..lang.parser import parse
from ..lang.resolve import resolve
from .evaluation import Options

_LITERALS = (
    "a value is a literal such as 3, 2*pi or [[1, 2], [3, 4]]; text goes in quotes, a file is @FILE"
)
_ANOTHER = re.compile(r",\s*([^\W\d]\w*)\s*=(?!=)")


def constant(text: str, name: str) -> Any:
    """The value of a literal from the command line: a constant expression of the language, without
    names from outside.

    Raises GradcliError (E005), with the text itself as the source of the excerpt.
    """
    source = Source(f"<{name}>", text)
    try:
        node = resolve(parse(source), source)
        if not node.is_expression or node.names.keys() - {result for result, _ in node.results}:
            message = f"the value given for `{name}` isn't a constant: {text[:80]}"
            raise GradcliError(Diagnostic("E005", message, help=_meant(text, name) or _LITERALS))
        settings = Options(max_steps=1000, max_memory=2**30).settings
        execution = Execution(compile_program(settings, node), {}).execute()
        if execution.run.draws:
            message = f"the value given for `{name}` isn't a constant: it draws random numbers"
            help = "let the program draw them, with the seed that --seed gives"
            raise GradcliError(Diagnostic("E005", message, help=help))
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
        if error.diagnostics[0].code in ("E001", "E005"):  # E001: the environment is wrong
            raise
        first = error.diagnostics[0]
        help = _meant(text, name) or first.help or _LITERALS
        message = f"the value given for `{name}` isn't a constant: {first.message}"
        raise GradcliError(Diagnostic("E005", message, first.span, first.label, help)) from None


def _meant(text: str, name: str) -> str:
    """What somebody may mean with a value that is no constant: a file, several inputs, or a
    list."""
    if os.path.isfile(text):
        return f"`{name}=@{text}` reads the file"
    if found := _ANOTHER.search(text):
        first = text[: found.start()]
        return f"each input stands alone: `--set {name}={first} --set {found[1]}=…`"
    if re.fullmatch(r"[^\[\](){}=]+,[^\[\](){}=]*", text):
        return f"a list is written in brackets: `{name}=[{text}]`"
    return ""
