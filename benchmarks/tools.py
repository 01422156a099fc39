"""What several workloads do: run a gradcli program, and measure memory."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import gradcli
from gradcli.engine.execution import Execution, compile_program
from gradcli.engine.trace.run import Run, Settings
from gradcli.engine.trace.tape import reachable
from gradcli.engine.trace.windows import STRIDE

from .workload import Contender, Goal, Task, ratio


def contender(
    source: str,
    inputs: Mapping[str, Any],
    by: tuple[str, ...],
    name: str = "gradcli",
    dtype: str = "float64",
    **facts: Any,
) -> Contender:
    """gradcli on a program with one output: its value, and the gradients `by` these variables."""

    def prepare() -> Task:
        program = gradcli.load(source=source).with_options(wrt=by, dtype=dtype)

        def task() -> list[Any]:
            answer = program.run(inputs)
            (value,), (row,) = answer.outputs.values(), answer.gradients.values()
            return [value, *row.values()]

        return task

    return Contender(name, prepare, **facts)


FUNCTION = "gradcli, value only"


def function(
    source: str, inputs: Mapping[str, Any], dtype: str = "float64", name: str = FUNCTION
) -> Contender:
    """gradcli on the same program without a gradient: what the cost of one is held against."""

    def prepare() -> Task:
        program = gradcli.load(source=source).with_options(grad=False, dtype=dtype)

        def task() -> None:
            program.run(inputs)

        return task

    return Contender(name, prepare)


# The cheap-gradient principle: value and gradient cost a small multiple of the value.
CHEAP = Goal("gradient / function", "", 4.0, ratio("gradcli", FUNCTION))


# Loops become vectors, also where they call `sin`, `exp` and their kin: GCC takes those of glibc's
# libmvec, if what is written to is `restrict`.
BY_C = "C by hand, SIMD math"
SIMD = ("-O3", "-march=native", "-ffast-math")


def c_function(
    text: str, options: tuple[str, ...] = SIMD, name: str = "run"
) -> Callable[..., None]:
    """A function of a C text, compiled. It is called with contiguous arrays, ints (long) and
    floats."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise ImportError("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "text.c"), Path(folder, "text.so")
        source.write_text(text)
        command = [compiler, *options, "-shared", "-fPIC", source, "-o", library, "-lm"]
        subprocess.run(command, check=True)
        function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None

    def argument(given: Any) -> Any:
        if isinstance(given, np.ndarray):
            assert given.flags.c_contiguous
            return ctypes.c_void_p(given.ctypes.data)
        return ctypes.c_long(given) if isinstance(given, int) else ctypes.c_double(given)

    return lambda *given: function(*map(argument, given))


def executed(source: str, inputs: Mapping[str, Any]) -> tuple[Run, Any]:
    """A finished run, with its trace, and its frame, which keeps the values alive that keep the
    trace alive."""
    compiled = compile_program(Settings(), gradcli.load(source=source)._resolved)
    execution = Execution(compiled, inputs).execute()
    return execution.run, execution.frame


def operations(frame: list[Any]) -> int:
    """The operations that the values of a frame were computed by, as far as they are on the
    trace."""
    traced = [value[2] for value in frame if type(value) is tuple]
    return sum([len(segment.records) // STRIDE for segment in reachable(traced, 0)])


def bytes_per_operation(source: str, inputs: Mapping[str, Any]) -> float:
    """How much memory an operation takes on the trace, with the numbers that are kept for it."""
    executed(source, inputs)  # imports and caches, which aren't counted
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        run, frame = executed(source, inputs)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert run.trace.number
    return (after - before) / operations(frame)


def peak_memory(source: str, inputs: Mapping[str, Any]) -> int:
    """The peak resident memory, in bytes, of a process of its own that evaluates a program with its
    gradients."""
    command = [sys.executable, "-c", _PEAK, source, repr(dict(inputs))]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# The kernel's own figure, as `ru_maxrss` begins with what the parent process had.
_PEAK = """
import ast, resource, sys
import gradcli
gradcli.load(source=sys.argv[1]).with_options(mode="reverse").run(ast.literal_eval(sys.argv[2]))
try:
    with open("/proc/self/status") as lines:
        print(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")))
except OSError:
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


def on_all_cores(task: Task) -> Task:
    """The task on all cores of the machine, where others are kept on one."""

    def everywhere() -> Any:
        if not hasattr(os, "sched_setaffinity"):
            return task()
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        try:
            return task()
        finally:
            os.sched_setaffinity(0, before)

    return everywhere
