"""`gradcli lsp`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from ..diagnostics import Diagnostic, GradcliError
from . import options
from .lint import Ignore, Select, codes
from .terminal import Terminal

Stdio = Annotated[
    bool,
    typer.Option("--stdio", help="Speak over standard input and output, as it does anyway."),
]


def command(
    stdio: Stdio = False,
    select: Select = None,
    ignore: Ignore = None,
    traceback: options.Traceback = False,
) -> int:
    """Serve an editor: errors while you type, completion, formatting.

    It is a language server, which editors start themselves, and speaks the Language Server Protocol
    over standard input and output. It runs no program. It needs `pip install 'gradcli[lsp]'`.

    \b
    Examples:
      gradcli lsp
      gradcli lsp --ignore W401
    """
    if find_spec("pygls") is None:
        message = "`lsp` needs pygls, which isn't installed"
        raise GradcliError(Diagnostic("E001", message, help="pip install 'gradcli[lsp]'"))
    if sys.stdin.isatty():
        Terminal().summary("a language server: editors start it, and Ctrl-C ends it")
    from ..editor.server import serve
    from ..tidy.linting import Wanted

    return serve(Wanted(codes(select, "--select"), codes(ignore, "--ignore")))
