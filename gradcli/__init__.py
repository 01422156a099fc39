"""gradcli evaluates and differentiates small programs.

    >>> import gradcli
    >>> program = gradcli.load(source="var x = 3.0; y = x**2")
    >>> program.run(x=4.0).gradients["y"]["x"]
    8.0

The tour of the house. Each room is a folder, and imports go one way, downwards in this list
(tests/test_house.py):

cli         how it is asked: one thin file a command; typer enters only here
report      how answers look: one file a format
editor      what an editor asks about a program that is being written, and the language server
tidy        how a program is written: `fmt` lays it out, `lint` finds what could be better
tasks       what a user asks for: plain functions that return result dataclasses
rows        how rows of data come and go: one file a format; pyarrow enters only here
engine      how it runs: programs become closures; the trace, and the sweeps over it; NumPy and CuPy
            enter here
lang        what a program means: text to syntax tree to resolved program, and every error that can
            be known before running
ops         what functions exist: one table, one entry a function, with its derivative
library     layers, losses and optimizers in the language itself: `import nn` reads nn.tg
diagnostics what errors and warnings are made of, and how one is drawn; codes.py explains each,
            and vocabulary.py the words of the language
eager       the engine without the language: `gradcli.Tape`, and the values that it records;
            numpy.py has their functions
notebook    `%%gradcli`: cells of notebooks that are programs; IPython enters only here
structs     classes of fields that cost little to import: the nodes of programs, and of the IR
highlighting
            the lexer for Pygments: colours of programs in documents
extension   `gradcli.register`: functions of other packages join the table
platform    what is changed of the process: one of gradcli's own is arranged for the work, any other
            is put back as it was

The engine has rooms of its own; the first line of each says which question it answers. From the top
down: `kernels` run what is hot; `interpreter`, `calls` and `compilation` make closures of a
program; `transforms`, `jacobian` and `explain` answer what is asked of a run; `lanes` lets many
rows run at once; `replay` evaluates recorded values at other points; `ad` carries derivatives over
the `trace`; `operations` has `apply`, which every operation goes through; `analysis` reads the text
of a program. The compiler is `lowering`, `ir`, `passes` and `codegen`. `formulas` computes what
the entries of the table say; `values` and `backends` say what a value is and where it is;
`symbolic` reads a run back as SymPy's expressions.

An evaluation goes `Source -> lang.parse -> lang.resolve -> engine -> tasks.evaluate -> Evaluation
-> report -> stdout`; `gradcli eval --show ast|program|ir|llvm|trace` prints what lies between. A
batch goes `rows.sources -> ranges -> tasks.batch.block -> engine.row_runs -> columns ->
rows.writing`, a block at a time; `tasks.batch.job` sees to it that every block comes to its end.

To add a builtin, write one entry in ops. A statement: the grammar, a node in lang/syntax, and its
case in resolving, running and printing. An error: one call where it is found, one entry in
codes.py. An output format: one file in report, one line in its FORMATS. A format of rows: one file
each in rows/reading and rows/writing, one line each in OPENERS and WRITERS. A command: a file in
tasks, a file in cli, one word in cli/app.py.

Nothing heavy is imported here: `gradcli --version` must not pay for NumPy, nor a formula of
numbers.
"""

from __future__ import annotations

import sys

if sys.argv[:1] == [
    "-m"
]:  # `python -m gradcli`: before anything is imported that the current folder may have, too
    from .platform.search_path import leave_out_current_folder

    leave_out_current_folder()

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .api import Program, load
    from .diagnostics import Diagnostic, GradcliError
    from .eager.arrays import Value, Variable
    from .eager.tape import Tape
    from .extension import register, unregister
    from .tasks.evaluation import Evaluation

_HOMES = {
    "Diagnostic": "diagnostics",
    "Evaluation": "tasks.evaluation",
    "GradcliError": "diagnostics",
    "Program": "api",
    "Tape": "eager.tape",
    "Value": "eager.arrays",
    "Variable": "eager.arrays",
    "load": "api",
    "load_ipython_extension": "notebook",
    "register": "extension",
    "unload_ipython_extension": "notebook",
    "unregister": "extension",
}
__all__ = [
    "Diagnostic",
    "Evaluation",
    "GradcliError",
    "Program",
    "Tape",
    "Value",
    "Variable",
    "__version__",
    "load",
    "register",
    "unregister",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
