"""The loop of `scalar_loop` as machine code, against C; and what it costs to get there.

Kernels are made of regions and called here, without what a run does besides.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import gradcli
from gradcli.engine.ir.instructions import Region
from gradcli.engine.lowering.programs import lower_program
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.derivatives.recording import record
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.expansion import expand
from gradcli.engine.passes.folding import fold
from gradcli.engine.passes.hoisting import hoist

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload, ratio
from .scalar_loop import PROGRAM, N, X

C = """
#include <math.h>

void value(double x, long n, double *found) {
    double s = 0.0;
    for (long i = 0; i < n; i++) {
        s = s * 0.999 + sin(x * i) * 0.01;
        if (s > 0.01) s = s - 0.1 * x;
    }
    found[0] = s;
}

void gradient(double x, long n, double *found) {
    double s = 0.0, ds = 0.0;
    for (long i = 0; i < n; i++) {
        double t = x * i;
        s = s * 0.999 + sin(t) * 0.01;
        ds = ds * 0.999 + cos(t) * i * 0.01;
        if (s > 0.01) {
            s = s - 0.1 * x;
            ds = ds - 0.1;
        }
    }
    found[0] = s;
    found[1] = ds;
}
"""
BY_HAND, MACHINE, WRITTEN = "C by hand, -O2", "gradcli, machine code", "gradcli, Python text"


def _by_hand(name: str, results: int) -> Callable[[], Task]:
    def prepare() -> Task:
        function = tools.c_function(C, ("-O2", "-ffp-contract=off"), name)
        found = np.empty(results)

        def task() -> list[float]:
            function(X, N, found)
            return list(found)

        return task

    return prepare


def _region(source: str) -> Region:
    return lower_program(gradcli.load(source=source)._resolved, {}).region


def _value() -> Region:
    return _region(PROGRAM)


def _gradient() -> Region:
    """The value, the gradient by x, and whether they are connected."""
    region = without_dead_code(fold(hoist(vjp(_value(), [1]))))
    return without_dead_code(record(fold(expand(region), last=True)), last=True)


def _compiled(module: str, make: Callable[[], Region], results: int) -> Callable[[], Task]:
    def prepare() -> Task:
        if module == "llvm":
            from gradcli.engine.codegen.llvm.functions import compiled
        else:
            from gradcli.engine.codegen.python.regions import compiled
        region = make()
        kernel = compiled(region)
        seed = [1.0] * (len(region.block.parameters) - 2)
        return lambda: kernel(N, X, *seed)[:results]

    return prepare


def _workload(name: str, what: str, region: Callable[[], Region], **facts: Any) -> Workload:
    results = 1 if name == "value" else 2
    return Workload(
        f"native_{name}",
        f"the loop of scalar_loop, {what}",
        [
            Contender(MACHINE, _compiled("llvm", region, results)),
            Contender(WRITTEN, _compiled("python", region, results)),
            Contender(BY_HAND, _by_hand(name, results)),
        ],
        **facts,
    )


# ---- what it costs to get there ------------------------------------------------------------------


def _straight(operations: int) -> Region:
    """A region of so many operations on scalars, every tenth of which is a sine."""
    random, lines = Random(operations), ["var x = 0.5", "a = x"]
    for k in range(operations // 2):
        factor = f"{random.random():.3f}"
        lines.append(f"a = sin(a) + {factor}" if k % 5 == 0 else f"a = a*{factor} + x")
    return _region("\n".join([*lines, "output a"]) + "\n")


def _milliseconds_to_compile(timings: Timings) -> float | None:
    """Of 100 operations."""
    if MACHINE not in timings:
        return None
    from gradcli.engine.codegen.llvm.functions import compiled

    taken = []
    for k in range(9):
        region = _straight(500 + 2 * k)
        started = time.perf_counter()
        compiled(region)
        taken.append((time.perf_counter() - started) / (5 + k / 50) * 1e3)
    return statistics.median(taken)


LOAD = (
    "import time; t = time.perf_counter(); import llvmlite.binding; print(time.perf_counter() - t)"
)


def _milliseconds_to_load(timings: Timings) -> float | None:
    """LLVM, in a process of its own."""
    if MACHINE not in timings:
        return None
    command = [sys.executable, "-c", LOAD]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(5)]
    return statistics.median(float(run.stdout) * 1e3 for run in runs)


WORKLOADS = [
    _workload(
        "value",
        "its value",
        _value,
        goals=[
            Goal("machine code / C", "", 1.2, ratio(MACHINE, BY_HAND)),
            Goal("compiling 100 operations", "ms", 15.0, _milliseconds_to_compile),
            Goal("loading LLVM", "ms", None, _milliseconds_to_load),
        ],
    ),
    _workload(
        "gradient",
        "value and gradient, by hand forwards",
        _gradient,
        goals=[Goal("machine code / C", "", None, ratio(MACHINE, BY_HAND))],
    ),
]
