"""`check` as a whole process: of one small program, with SymPy's derivative, and of all samples
without."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio
from .start_up import GRADCLI, process

SAMPLES = Path(__file__).parents[2] / "samples"
SMALL = "var x = 2.0; y = x**3 + sin(x); output y"
WITHOUT_SYMPY = ["--methods", "forward,complex,differences,taylor"]


def _small() -> Task:
    return process([*GRADCLI, "check", "-e", SMALL], prints_result=False)


def _samples() -> Task:
    return tools.on_all_cores(
        process([*GRADCLI, "check", str(SAMPLES), *WITHOUT_SYMPY], prints_result=False)
    )


def _import_sympy() -> Task:
    if importlib.util.find_spec("sympy") is None:
        raise ImportError("sympy")
    return process([sys.executable, "-c", "import sympy"], prints_result=False)


# On the machine that the goals were set on, 0.5 s and 4 s, SymPy's import takes 0.2 s.
WORKLOADS = [
    Workload(
        "check",
        "every gradient of a small program, and of all samples, the whole process",
        [
            Contender("gradcli check -e", _small),
            Contender("gradcli check samples", _samples),
            Contender("import sympy", _import_sympy),
        ],
        [
            Goal(
                "gradcli check -e / import sympy",
                "",
                2.5,
                ratio("gradcli check -e", "import sympy"),
            ),
            Goal(
                "gradcli check samples / import sympy",
                "",
                20.0,
                ratio("gradcli check samples", "import sympy"),
            ),
        ],
    ),
]
