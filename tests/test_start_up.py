"""Start-up pays for nothing that it doesn't need, nor does importing the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def loaded_by(*arguments: str) -> set[str]:
    """The modules in a fresh process after one command."""
    code = f"import sys; from gradcli.cli import run; run({list(arguments)!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


SAMPLE = Path(__file__).parent.parent / "samples" / "rosenbrock.tg"
LOOP = "var x; y = 0.0; for i in range({}) {{ y = y * 0.9 + sin(x * i) }}; y"
CALLS = (
    "var x; fn f(a) { for i in range(20) { a = a * 0.9 + sin(x + a) }; return a }\n"
    "y = 0.0; for i in range(100) { y = y + f(i) }; output y"
)
HEAVY = {
    "sympy",
    "scipy",
    "cupy",
    "matplotlib",
    "dask",
    "pydantic",
    "lark",
    "rich",
    "prompt_toolkit",
    "pygls",
    "lsprotocol",
    "pygments",
    "pandas",
    "pyarrow",
    "llvmlite",
    "plotext",
}


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (("--version",), HEAVY | {"numpy", "typer"}),
        (("--version", "--verbose"), HEAVY | {"numpy", "typer"}),
        (("--help",), HEAVY | {"numpy", "gradcli.ops", "gradcli.cli.eval"}),
        (("ops", "tanh"), HEAVY | {"numpy"}),
        (("explain", "E304"), HEAVY | {"numpy"}),
        (("fmt", str(SAMPLE), "--check"), HEAVY | {"numpy", "typer", "gradcli.ops"}),
        (("lint", str(SAMPLE)), HEAVY | {"numpy"}),
        (
            ("eval", "-e", "x**2 * sin(y)", "--set", "x=3", "--set", "y=0.5"),
            HEAVY | {"numpy", "typer"},
        ),
        (
            ("eval", "-e", "x**2", "--set", "x=3", "--format", "json"),
            HEAVY | {"numpy", "ctypes", "hashlib"},
        ),
        (("eval", "-e", "x**2", "--set", "x=3", "--jacobian", "--hessian"), HEAVY),
        (("why", "-e", "var x = 2.0; a = x**2; y = detach(a) * 3"), HEAVY | {"numpy"}),
        (("eval", "-e", "log(x) * 3", "--set", "x=-2", "--debug-nan"), HEAVY | {"numpy"}),
        (
            (
                "eval",
                "-e",
                "logit(x) + xlogy(x, ndtr(x)) + lgamma(x)",
                "--set",
                "x=0.3",
                "--no-grad",
            ),
            HEAVY | {"numpy"},
        ),
        (
            ("eval", "-e", LOOP.format(100), "--set", "x=3"),
            HEAVY | {"numpy", "gradcli.engine.ir.instructions"},
        ),
        (
            ("eval", "-e", CALLS, "--set", "x=3"),
            HEAVY | {"numpy", "gradcli.engine.ir.instructions"},
        ),
        (("eval", "-e", LOOP.format(10_000), "--set", "x=3"), HEAVY | {"numpy"}),
        (("eval", "-e", "sum(array([1.0, 2.0]) * x)", "--set", "x=3"), HEAVY | {"typer"}),
        (("plot", "-e", "x**2", "--over", "x=-1:1"), HEAVY - {"plotext"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_start_up_pays_for_nothing_that_it_does_not_need(
    arguments: tuple[str, ...], absent: set[str]
) -> None:
    assert loaded_by(*arguments) & absent == set()


def test_a_small_batch_pays_for_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    data, out = tmp_path / "d.csv", tmp_path / "o.csv"
    data.write_text("x\n1\n2\n")
    loaded = loaded_by("batch", "-e", "x**2", "--rows", str(data), "-o", str(out))
    assert out.read_text().splitlines()[1:] == ["1,2", "4,4"]
    assert (
        loaded
        & (
            (HEAVY - {"pyarrow", "llvmlite"})  # rows are compiled before the first one
            | {"pyarrow.compute", "multiprocessing", "concurrent.futures", "typer"}
        )
        == set()
    )


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, gradcli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.split(".")[0] for name in done.stdout.split()} & (
        HEAVY | {"numpy", "typer", "click"}
    )
