"""gradcli evaluates and differentiates small programs.

    >>> import gradcli
    >>> program = gradcli.load(source="var x = 3.0; y = x**2")
    >>> program.run(x=4.0).gradients["y"]["x"]
    8.0

The tour of the house. Each room is a folder, and imports go one way, downwards in this list (tests/test_house.py):

cli         how it is asked: one thin file a command; typer enters only here
report      how answers look: one file a format
tasks       what a user asks for: plain functions that return result dataclasses
rows        how rows of data come and go: one file a format; pyarrow enters only here
engine      how it runs: programs become closures; the trace, and the sweeps over it; NumPy and CuPy enter here
lang        what a program means: text to syntax tree to resolved program, and every error that can be known before running
ops         what functions exist: one table, one entry a function, with its derivative
library     layers, losses and optimizers in the language itself: `import nn` reads nn.tg
diagnostics what errors and warnings are made of, and how one is drawn; codes.py explains each
eager       the engine without the language: `gradcli.Tape`, and the values that it records; numpy.py has their functions
extension   `gradcli.register`: functions of other packages join the table
collector   pauses the garbage collector around large trees; recursion.py lets Python's functions call each other deeper

The engine, from a program to its gradients: `evaluator` compiles it and runs it, with a case for each node in `statements`,
`expressions`, `calls`, `modules`, `indexing`, `declarations`, `tapes` and `outcomes`; `paths` knows what an instance of a
module will be called. Every operation goes through `apply`, plain ones `at_once` more quickly; what `scalar_closures` and
`fusion` write for hot scalar code means the same, with `compound` operations; `inlining` knows the functions that names stand
for, and `readings` reads calls of these, and of their derivatives (`read_derivatives`), as formulas, turn by turn in loops
(`read_loops`; where ints say how many turns, for these `known_ints`), each path through their `branches` by itself; where
only the turns themselves say when they end, the function is read as a small program (`loop_reading`), and functions are written
that run it there and back (`loop_source`), for calls that are hot (`hot_loops`), and for the `turns` of a loop that runs long
in its frame (`long_loops`). `tape` is the trace, `windows` the views of it that tapes are, `reverse` the sweep back over it
(from several seeds the `seeded_sweep`), `forward` what carries tangents along, `rules` and `formulas` the readings of the
table's derivatives that both use; `recording` puts an operation there.
`derivatives`, `jacobians` and `batches` answer what is asked of values, `transforms` what is asked of functions, at the
`levels` that they open; of functions of floats the shorter way (`scalar_transforms`), with a sweep over nothing but floats
(`scalar_sweep`). A Jacobian takes few sweeps (`compressed`): `sparsity` finds, as `patterns`, which elements depend on
which and how far the elements of products `reach`, `colouring` which rows or columns one sweep can carry together, and
`structures` keeps both; `tangents` go forward over the `records`, or with calls, where forward mode is asked for (`columns`).
Gradients are `attached` to variables, and `backward` fills them. A run can keep everything (`keeping`): `ancestry` is that as a
graph, in which `reasons` says why there is no gradient, `walks` remember which way most of one came, `zeros` why it is zero,
`nonfinite` and `blame` what made a nan, and `elements` what depends on one element. Functions with a rule of their own are
called by `own_functions`, and asked by `own_rules`. `symbolic` reads a run back as SymPy's expressions, and writes them as
code. `values`, `boxes`, `lanes` and `backends` say what a value is, `devices` and `cuda` where it can be; `blas`
is what matrices are multiplied by. Many rows run at once (`lanes`, `mapping`): operations
take them `by_rows`. Hot expressions on them (`fused_rows`) and on arrays (`fused_arrays`; on the way back `kept_partials`)
are each one `fused_operation`, by `row_functions` or as `small_arrays`, sums of them over a row's elements (`row_sums`) by
`sum_functions`; `rewriting` makes their formulas shorter, which `row_source` writes for NumPy and `native_source` for LLVM,
where llvmlite is there and the bits are the same (`native`). Parts of rows go by `slices`, very many rows in `blocks`,
arrays from rows to elements and back by `turning`; where they differ in what they do, `divergence` divides them and joins
them again. `row_runs` runs a whole program for rows of data, and `connections` knows which of them have a gradient.
How far programs are compiled, and when code is hot, is decided by `tiers` alone.

An evaluation goes `Source -> lang.parse -> lang.resolve -> engine -> tasks.evaluate -> Evaluation -> report -> stdout`,
and `gradcli eval --show ast|program|trace` prints what lies between. A batch goes `rows.sources -> ranges -> tasks.batch.block ->
engine.row_runs -> columns -> rows.writing`, a block at a time; `tasks.batch.job` sees to it that every block comes to its end.

To add a builtin, write one entry in ops. A statement: the grammar, a node in lang/syntax, and its case in
resolving, running and printing. An error: one call where it is found, one entry in codes.py. An output format: one file
in report, one line in its FORMATS. A format of rows: one file each in rows/reading and rows/writing, one line each in OPENERS
and WRITERS. A command: a file in tasks, a file in cli, one word in cli/app.py.

Nothing heavy is imported here: `gradcli --version` must not pay for NumPy, nor a formula of numbers.
"""

from __future__ import annotations

import sys

if sys.argv[:1] == ["-m"]:  # `python -m gradcli`: before anything is imported that the current folder may have, too
    from .safe_path import leave_out_current_folder

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
    "register": "extension",
    "unregister": "extension",
}
__all__ = [
    "Diagnostic", "Evaluation", "GradcliError", "Program", "Tape", "Value", "Variable", "__version__",
    "load", "register", "unregister",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
