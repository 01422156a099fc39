"""Options that several commands share: each once, as an annotation, with its help."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import typer


def finite(value: float | None) -> float | None:
    """A number that is neither nan nor infinite, which no range excludes."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


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
        help=(
            "Set an input: a constant expression, @FILE (.json .csv .tsv .jsonl .parquet .arrow "
            ".npy .npz), or @FILE:COLUMN; @- reads standard input."
        ),
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE",
        help=(
            "Read inputs from a .json mapping, an .npz or the columns of a table; - reads "
            "standard input; --set overrides them."
        ),
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
        help="Sources: what to differentiate with respect to (default: every trainable variable).",
    ),
]
NoGrad = Annotated[bool, typer.Option("--no-grad", help="Compute no gradients.")]
Jacobian = Annotated[
    bool, typer.Option("--jacobian", help="Add each output's Jacobian, for each variable.")
]
Hessian = Annotated[
    bool, typer.Option("--hessian", help="Add each output's Hessian, for each variable.")
]
HessianBlocks = Annotated[
    bool,
    typer.Option(
        "--hessian-blocks", help="Add the Hessian with the mixed blocks of two variables."
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
FORMAT = "Output format (default: as the ending of -o FILE says, or text)."
Output = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write the results to this file, atomically."
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="Compute blocks of rows of vmap(f)(…) on N threads, with the same results.",
    ),
]
MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", metavar="N", min=1, help="Stop after N statements.")
]
Watch = Annotated[
    bool,
    typer.Option("--watch", help="Run again when a program, or what it imports, changes."),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop after so many seconds.")
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
