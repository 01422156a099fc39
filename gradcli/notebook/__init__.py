"""gradcli in notebooks, and at the prompt of IPython: `%load_ext gradcli` gives cells that are
programs.

    %%gradcli result --set x=data
    var w = [1.0, 2.0]
    loss = sum((w - x)**2)

`request` reads the first line of a cell, `cell` runs the program, `variables` takes values from
Python and gives others back, and `completing` knows the words that fit. IPython enters only here.
"""

from __future__ import annotations

from typing import Any

import numpy  # noqa: F401  # before a cell runs: it stays broken if Ctrl-C ends its import

_NAME = "gradcli"


def load_ipython_extension(shell: Any) -> None:
    """Gives a shell the cell magic, what shows results as tables, and completion."""
    from ..report.evaluation_html import evaluation_html
    from ..report.text import plain_text
    from ..tasks.evaluation import Evaluation
    from .cell import CellMagic
    from .completing import matcher

    shell.register_magic_function(CellMagic(shell), "cell", _NAME)
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type(Evaluation, evaluation_html)
    formatters["text/plain"].for_type(
        Evaluation, lambda evaluation, printer, cycle: printer.text(plain_text(evaluation))
    )
    shell.Completer.custom_matchers.append(matcher())


def unload_ipython_extension(shell: Any) -> None:
    """Takes all of that away again."""
    from ..tasks.evaluation import Evaluation
    from .completing import is_ours

    shell.magics_manager.magics["cell"].pop(_NAME, None)
    for kind in ("text/html", "text/plain"):
        shell.display_formatter.formatters[kind].pop(Evaluation, None)
    matchers = shell.Completer.custom_matchers
    matchers[:] = [found for found in matchers if not is_ours(found)]
