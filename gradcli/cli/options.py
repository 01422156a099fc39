"""Options that several commands share: each once, as an annotation, with its help."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import typer

from ..diagnostics import Diagnostic, GradcliError

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Programs, or folders of .tg files; - reads standard input.",
        show_default=False,
    ),
]
Expression = Annotated[
    str | None,
    typer.Option("-e", "--expr", metavar="EXPR", help="The program itself, instead of a file."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set an input: a constant expression, or @FILE (.npy .npz:name .csv .json).",
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE",
        help="Read inputs from a .json mapping or an .npz; --set overrides them.",
    ),
]
IgnoreExtra = Annotated[
    bool, typer.Option("--ignore-extra", help="Ignore inputs that the program doesn't declare.")
]
Of = Annotated[
    list[str] | None,
    typer.Option(
        "--of", metavar="NAME,...", help="Targets: what to differentiate (default: every output)."
    ),
]
Wrt = Annotated[
    list[str] | None,
    typer.Option(
        "--wrt",
        metavar="NAME,...",
        help="Sources: differentiate by these (default: every trainable variable).",
    ),
]
NoGrad = Annotated[bool, typer.Option("--no-grad", help="Compute no gradients.")]
Jacobian = Annotated[
    bool, typer.Option("--jacobian", help="Add the Jacobian of each output by each variable.")
]
Hessian = Annotated[
    bool, typer.Option("--hessian", help="Add the Hessian of each output by each variable.")
]
HessianBlocks = Annotated[
    bool,
    typer.Option(
        "--hessian-blocks", help="Like --hessian, with the mixed blocks of two variables."
    ),
]
Sparse = Annotated[
    bool,
    typer.Option(
        "--sparse",
        help=(
            "Give Jacobians and Hessians as lists (rows, cols, values) of the structural nonzeros."
        ),
    ),
]
Mode = Annotated[
    Literal["auto", "reverse", "forward"],
    typer.Option(
        "--mode",
        metavar="auto|reverse|forward",
        help="Mode of differentiation; auto prefers forward for one or two scalar inputs.",
    ),
]
Unconnected = Annotated[
    Literal["none", "zero", "error"],
    typer.Option(
        "--unconnected",
        metavar="none|zero|error",
        help="What to give for a gradient that doesn't exist.",
    ),
]
DebugNan = Annotated[
    bool,
    typer.Option(
        "--debug-nan",
        help="Find the first operation that causes a nan or an infinity in the results.",
    ),
]
Dtype = Annotated[
    Literal["float64", "float32"],
    typer.Option("--dtype", metavar="float64|float32", help="The float type of the run."),
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="cpu|cuda|cuda:N", help="The device that computes arrays."),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random builtins.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write the results to this file, atomically."
    ),
]
MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", metavar="N", min=1, help="Stop after N statements.")
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop after this time.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option("--max-memory", metavar="SIZE", help="Limit the memory of the program: 100M, 2G."),
]
Color = Annotated[
    Literal["auto", "always", "never"],
    typer.Option(
        "--color", metavar="auto|always|never", help="Use colour; auto respects NO_COLOR."
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no warnings.")]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Print what was run and how long it took.")
]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="Show the Python traceback of an internal error.")
]


def names(values: Iterable[str] | None) -> tuple[str, ...]:
    """The names of a repeatable option that takes comma lists. An output may be called `f(x, y)`:
    such commas don't count."""
    found: list[str] = []
    for value in values or ():
        depth, name = 0, ""
        for c in value:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                found.append(name)
                name = ""
            else:
                name += c
        found.append(name)
    return tuple(name.strip() for name in found if name.strip())


def values(assignments: list[str] | None, path: str | None) -> Mapping[str, Any]:
    """The inputs that `--set` and `--inputs` give. Raises GradcliError."""
    if not assignments and path is None:
        return {}
    from ..tasks.inputs import read_inputs

    return read_inputs(assignments or (), path)


def programs(files: list[str] | None, expr: str | None) -> list[str]:
    """The names of the programs that a command is about: its files and those in its folders, or
    `<expr>`. Raises GradcliError."""
    _verify_named(files, expr)
    return (
        ["<expr>"]
        if expr is not None
        else [name for file in files or () for name in _in_folder(file)]
    )


def program(file: str | None, expr: str | None) -> str:
    """The name of the one program that a command is about: its file, or `<expr>`. Raises
    GradcliError."""
    _verify_named([file] if file is not None else None, expr)
    return "<expr>" if file is None else file


def _verify_named(files: list[str] | None, expr: str | None) -> None:
    if expr is not None and files:
        raise GradcliError(
            Diagnostic("E001", "`-e` together with files", help="give one or the other")
        )
    if expr is None and not files:
        raise GradcliError(
            Diagnostic(
                "E001", "no program", help="name a FILE, `-` for standard input, or use -e 'x**2'"
            )
        )
    if files and files.count("-") > 1:
        raise GradcliError(Diagnostic("E001", "standard input is named twice", help="name it once"))


def _in_folder(file: str) -> list[str]:
    """The programs in a folder and the folders in it, but for hidden ones, sorted; of anything else
    that itself. Raises GradcliError (E002) for a folder without any, or that can't be read, and for
    what is called like a program but is a pipe, a socket or a device: to read it would wait for
    ever."""
    if not os.path.isdir(file):
        return [file]

    def fail(error: OSError) -> None:
        raise GradcliError(Diagnostic("E002", f"cannot read `{error.filename}`: {error.strerror}"))

    found = []
    for folder, inner, names in os.walk(file, onerror=fail):
        inner[:] = [name for name in inner if not name.startswith(".")]
        found += [
            os.path.join(folder, name).removeprefix("./") for name in names if name.endswith(".tg")
        ]
    if not found:
        help = "its programs are the files that end in `.tg`; name others one by one"
        raise GradcliError(
            Diagnostic("E002", f"there is no program in the folder `{file}`", help=help)
        )
    others = [path for path in sorted(found) if os.path.exists(path) and not os.path.isfile(path)]
    if others:
        help = "remove it, or name the programs one by one"
        raise GradcliError(
            *[
                Diagnostic("E002", f"cannot read `{path}`: it isn't a regular file", help=help)
                for path in others
            ]
        )
    return sorted(found)


def verify_apart(files: list[str] | None, output: str | None) -> None:
    """Raises GradcliError where the answer, or an error that is told in its place, would replace a
    program (E001), and for folders as `programs` does."""
    if output in (None, "-"):
        return
    if os.path.realpath(output) in [
        os.path.realpath(name) for file in files or () for name in _in_folder(file)
    ]:
        raise GradcliError(
            Diagnostic(
                "E001",
                f"the output would replace the program `{output}`",
                help="write it somewhere else",
            )
        )
