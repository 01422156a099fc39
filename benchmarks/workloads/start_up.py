"""A whole process for a formula, its value and its gradient: what a shell script or a makefile
pays."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..workload import Contender, Goal, Task, Workload, ratio

_SCRIPT = shutil.which("gradcli", path=str(Path(sys.executable).parent))
GRADCLI = [_SCRIPT] if _SCRIPT else [sys.executable, "-m", "gradcli"]

# Each prints the value of x**2 at 3, and its gradient.
PEERS = {
    "autograd": "import autograd; f = lambda x: x**2; print(f(3.0), autograd.grad(f)(3.0))",
    "symengine": (
        "import symengine as s; x = s.Symbol('x'); y = x**2; print(y.subs({x: 3.0}), "
        "y.diff(x).subs({x: 3.0}))"
    ),
    "sympy": (
        "import sympy as s; x = s.Symbol('x'); y = x**2; print(y.subs({x: 3.0}), "
        "y.diff(x).subs({x: 3.0}))"
    ),
    "casadi": (
        "import casadi as c; x = c.SX.sym('x'); f = c.Function('f', [x], [x**2, c.gradient(x**2, "
        "x)]); print(*f(3.0))"
    ),
    "jax": "import jax; print(*jax.value_and_grad(lambda x: x**2)(3.0))",
    "torch": (
        "import torch; x = torch.tensor(3.0, requires_grad=True); y = x**2; y.backward(); "
        "print(y.item(), x.grad.item())"
    ),
}


def process(command: list[str], prints_result: bool = True) -> Task:
    def task() -> list[float] | None:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        if not prints_result:
            return None
        return [float(number) for number in re.findall(r"(?<![\w.*])[0-9][0-9.]*", done.stdout)[:2]]

    return task


def _peer(name: str, code: str) -> Contender:
    def prepare() -> Task:
        if importlib.util.find_spec(name) is None:
            raise ImportError(name)
        return process([sys.executable, "-c", code])

    return Contender(name, prepare, expected=lambda: [9.0, 6.0])


def _plain(name: str, command: list[str]) -> Contender:
    return Contender(name, lambda: process(command, prints_result=False))


def _gradcli(name: str, arguments: list[str], prints_result: bool) -> Contender:
    prepare: Callable[[], Task] = lambda: process([*GRADCLI, *arguments], prints_result)  # noqa: E731
    return Contender(name, prepare, expected=lambda: [9.0, 6.0])


WORKLOADS = [
    Workload(
        "start_up",
        "x**2 at 3 with its gradient, the whole process",
        [
            _gradcli("gradcli eval", ["eval", "-e", "x**2", "--set", "x=3"], prints_result=True),
            _plain("import numpy", [sys.executable, "-c", "import numpy"]),
            _plain("pass", [sys.executable, "-c", "pass"]),
            _gradcli("gradcli --version", ["--version"], prints_result=False),
            _gradcli("gradcli --help", ["--help"], prints_result=False),
            *(_peer(name, code) for name, code in PEERS.items()),
        ],
        [Goal("gradcli eval / import numpy", "", 1.8, ratio("gradcli eval", "import numpy"))],
    ),
]
