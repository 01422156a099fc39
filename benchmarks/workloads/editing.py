"""Typing in an editor: a change of a program until its problems are there, over the pipes of a
language server in a process of its own."""

from __future__ import annotations

import importlib.util
import itertools
from functools import cache

from tests.editor.client import Editor

from ..workload import Contender, Goal, Task, Workload, milliseconds

LINES = 500
URI = "file:///nowhere/typed.tg"
_FUNCTION = """\
# Cost number {k}.
fn cost{k}(x, y = 2.0) {{
    a = sin(x * {k}.0) + y**2
    if a > 0.5 {{
        a = a * tanh(x) + log1p(a**2) / {k}.5
    }} else {{
        a = a - exp(-x)
    }}
    for i in range(3) {{ a += x * i }}
    return a
}}
y{k} = cost{k}(x) + sum(w @ b)
"""


@cache
def text() -> str:
    head = "var w = normal([3, 2])\nvar b = zeros(2)\nvar x = 0.5 in (0.1, 5.0)\n"
    functions = "".join([_FUNCTION.format(k=k) for k in range(1, LINES // 12)])
    return head + functions


def _opened() -> Editor:
    if importlib.util.find_spec("pygls") is None:
        raise ImportError("pygls")
    editor = Editor()
    editor.open(URI, text())
    return editor


def _change(ending: str) -> Contender:
    """Each change is another one, so that nothing is known from the last."""

    def prepare() -> Task:
        editor = _opened()
        count = itertools.count()

        def task() -> None:
            editor.change(URI, f"{text()}{ending.format(k=next(count))}\n")
            editor.problems(URI)

        return task

    return Contender(f"gradcli lsp, {'an error' if ending.endswith('(') else 'a line'}", prepare)


def _ask(question: str) -> Contender:
    def prepare() -> Task:
        editor = _opened()

        def task() -> None:
            editor.ask_at(question, URI, 14, 7)

        return task

    return Contender(f"gradcli lsp, {question}", prepare)


WORKLOADS = [
    Workload(
        "editing",
        f"a change in a program of {LINES} lines, until the editor has its problems",
        [
            _change("z{k} = x + y1"),
            _change("z{k} = f("),
            _ask("hover"),
            _ask("completion"),
        ],
        [Goal("from a change to its problems", "ms", 100.0, milliseconds("gradcli lsp, a line"))],
    ),
]
