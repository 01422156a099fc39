"""What a job is: the program as text, which column sets which declaration, and what is wanted of
every row. A plan is all that a worker needs to know, wherever it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...diagnostics import Diagnostic, GradcliError, Source, did_you_mean
from ...engine.analysis.declared import declared_names
from ...engine.analysis.requests import named_outputs
from ...lang import program
from ..evaluation import Options

TEXT = "str"


class Field(NamedTuple):
    """A column of the answer: its name, the dtype and the shape of what a row has there."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def beside(self, other: Field) -> Field | None:
        """The column that holds what both do: of ints and floats, floats. None for other shapes,
        and for text beside numbers."""
        if self == other:
            return self
        if self.shape != other.shape or TEXT in (self.dtype, other.dtype):
            return None
        kinds = [np.dtype(field.dtype).kind in "fc" for field in (self, other)]
        if kinds[0] is not kinds[1]:
            return self if kinds[0] else other
        return self._replace(dtype=np.result_type(self.dtype, other.dtype).name)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is computed of every row.

    source    the program: its name in messages, and its text; `imports` are the texts of what it
              imports, by path
    shared    values from outside that all rows have
    columns   the column of the data that sets a declaration, by its name
    keep      the columns that go into the answer as they are
    nan       "keep" or "error": whether a row with a nan among its answers is rejected
    reduce    "", "sum" or "mean": whether there is one row for all
    tile      rows that run at once
    fields    the columns of the answer, as far as rows are known
    widens    whether a column of them may still become one of floats; else such rows are rejected
    """

    source: Source
    options: Options
    imports: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    nan: str = "keep"
    reduce: str = ""
    tile: int = 0
    fields: tuple[Field, ...] = ()
    widens: bool = True


def bound_columns(
    node: program.Program,
    names: Iterable[str],
    shared: Mapping[str, Any],
    renamed: Mapping[str, str],
) -> dict[str, str]:
    """The column that sets each declaration, by the declaration's name, for data with columns of
    these names (a vector's `x.0`, `x.1` are the column `x`). A column with no name is for the only
    declaration that needs a value.

    `renamed` says which declaration a column sets whose name is another. Raises GradcliError (E003)
    for renamings of what there isn't, and (E004) for declarations that need a value and have none.
    """
    names, declared = list(names), declared_names(node)
    needed = [name for name in declared_names(node, needed=True) if name not in shared]
    if names == [""]:
        return {needed[0]: ""} if len(needed) == 1 else _refuse_nameless(needed)
    bound = {name: name for name in declared if name in names and name not in renamed}
    for column, name in renamed.items():
        if column not in names:
            swapped = name in names and column in declared
            help = (
                f"write `--map {name}={column}`: the column first"
                if swapped
                else did_you_mean(column, names)
            )
            help = help or f"its columns are {_listed(names)}"
            raise GradcliError(
                Diagnostic("E003", f"--map: the data has no column `{column}`", help=help)
            )
        if name not in declared:
            help = did_you_mean(name, declared) or f"it declares {_listed(declared)}"
            raise GradcliError(
                Diagnostic("E003", f"--map: the program declares no `{name}`", help=help)
            )
        if name in shared:
            message = f"--map: `{name}` has one value for all rows already, by --set or --inputs"
            raise GradcliError(Diagnostic("E001", message, help="leave one of them out"))
        bound[name] = column
    missing = [name for name in needed if name not in bound]
    if missing:
        raise GradcliError(*[_missing(name, names, renamed) for name in missing])
    return {name: column for name, column in bound.items() if name not in shared}


def gives_columns(node: program.Program, options: Options) -> bool:
    """Whether rows have answers at all: a program that only has expectations picks rows, of which
    columns are kept."""
    return bool(named_outputs(node)) or (options.grad and bool(options.of))


def verify_names(node: program.Program, names: Iterable[str]) -> None:
    """Raises GradcliError (E003) for a name of `--of` or `--wrt` that no row can have. What
    instances have, only runs tell."""
    known = list(
        dict.fromkeys(
            [*(name for name, _ in named_outputs(node)), *node.names, *declared_names(node)]
        )
    )
    for name in names:
        if name not in known and not node.has_modules:
            help = did_you_mean(name, known) or f"its names are {_listed(known[:12])}"
            raise GradcliError(Diagnostic("E003", f"the program has no `{name}`", help=help))


def _missing(name: str, names: list[str], renamed: Mapping[str, str]) -> Diagnostic:
    """What is wrong where nothing sets a declaration that needs a value."""
    message = f"the data has no column `{name}`, and the program gives it no value"
    if name in renamed:
        message = f"nothing sets `{name}`: by --map the column of that name sets `{renamed[name]}`"
    ways = (
        f"`--map COLUMN={name}` takes one of another name, `--set {name}=…` gives all rows one "
        "value"
    )
    return Diagnostic("E004", message, help=f"its columns are {_listed(names)}; {ways}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _refuse_nameless(needed: list[str]) -> Any:
    message = (
        f"the data is one array without names, and the program needs {len(needed)} values: "
        f"{_listed(needed)}"
    )
    raise GradcliError(
        Diagnostic("E004", message, help="save them as an .npz, with an array for each name")
    )


def parse_renamings(pairs: Iterable[str]) -> dict[str, str]:
    """`price=S` as {"price": "S"}. Raises GradcliError (E001)."""
    renamed: dict[str, str] = {}
    for pair in pairs:
        column, equals, name = pair.partition("=")
        if not equals or not column.strip() or not name.strip():
            raise GradcliError(
                Diagnostic(
                    "E001",
                    f"--map: expected COLUMN=NAME, got `{pair}`",
                    help="write `--map price=S`: the column first",
                )
            )
        column, name = column.strip(), name.strip()
        if column in renamed or name in renamed.values():
            twice = (
                f"the column `{column}` sets two names"
                if column in renamed
                else f"two columns set `{name}`"
            )
            raise GradcliError(Diagnostic("E001", f"--map: {twice}", help="leave one of them out"))
        renamed[column] = name
    return renamed
