"""The rows workload on a GPU, where the data are: Rosenbrock's function and its gradient, against
the GPU's memory bandwidth, JAX and PyTorch. And the same from the host's memory to the host's, as
`gradcli batch` does it between its files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ..workload import Contender, Goal, Task, Timings, Workload, ratio

ROWS, COLUMNS = 1_000_000, 10
PROGRAM = """
var x: float[n]
f = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
output f
"""
COPY = "a copy of as much memory"
RTOL = {"float64": 1e-9, "float32": 1e-4}


class OnGPU:
    """A result that stays there until somebody looks at it."""

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch = fetch

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.fetch(), dtype)


@cache
def rows(dtype: str) -> Any:
    """A row's numbers far apart in memory, as a tile of rows has them."""
    return np.random.default_rng(0).normal(size=(COLUMNS, ROWS)).astype(dtype)


@cache
def by_hand(dtype: str) -> list[Any]:
    x = rows(dtype).astype(float)
    left, right = x[:-1], x[1:]
    steps, rest = right - left**2, 1 - left
    gradient = np.zeros_like(x)
    gradient[1:] += 200 * steps
    gradient[:-1] -= 400 * steps * left + 2 * rest
    return [(100 * steps**2 + rest**2).sum(axis=0), gradient]


def _gradcli(dtype: str) -> Task:
    from gradcli.engine.backends.selection import backend_for
    from gradcli.engine.row_runs import RowRuns
    from gradcli.tasks.answer import prepare
    from gradcli.tasks.batch.answers import ask

    node, options = _parsed(dtype)
    compiled, backend = prepare(node, options), backend_for("cuda")
    with backend.active():
        x = backend.to_device(rows(dtype))

    def task() -> list[Any]:
        with backend.active():
            runs = RowRuns(compiled, {}, {"x": x}, partial(ask, options))
            (found,) = runs.answers(ROWS)
            backend.xp.cuda.get_current_stream().synchronize()
        return [
            OnGPU(partial(_fetched, backend, found.answer[name].array)) for name in ("f", "df/dx")
        ]

    return task


def _fetched(backend: Any, array: Any) -> Any:
    with backend.active():
        return backend.to_host(array)


def _from_host_to_host(dtype: str) -> Task:
    from gradcli.engine.backends.devices import GPU
    from gradcli.rows.blocks import Block
    from gradcli.tasks.batch.block import Computer
    from gradcli.tasks.batch.plan import Field, Plan

    node, options = _parsed(dtype)
    fields = (Field("f", dtype, ()), Field("df/dx", dtype, (COLUMNS,)))
    plan = Plan(node.source, options, columns={"x": "x"}, fields=fields, tile=GPU.tile(COLUMNS, 10))
    computer, block = Computer(plan, node), Block(0, ROWS, columns={"x": rows(dtype).T})

    def task() -> list[Any]:
        f, g = computer.compute(block).columns
        return [f.values, g.values.T]

    return task


def _parsed(dtype: str) -> Any:
    from gradcli.diagnostics import Source
    from gradcli.tasks.evaluation import Options
    from gradcli.tasks.programs import parse_program

    return parse_program(Source("rows.tg", PROGRAM)), Options(
        device="cuda", dtype=dtype, mode="reverse"
    )


def _copy(dtype: str) -> Task:
    """What the work has to read and to write at least: the rows, their values and their
    gradients."""
    import cupy

    x, values = cupy.asarray(rows(dtype)), cupy.empty(ROWS, dtype)
    gradients = cupy.empty_like(x)

    def task() -> None:
        gradients[...] = x
        values[...] = 0
        cupy.cuda.get_current_stream().synchronize()

    return task


def _jax(dtype: str) -> Task:
    os.environ.setdefault(
        "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
    )  # it would take three quarters of the GPU's memory
    import jax
    import jax.numpy as jnp

    if jax.devices()[0].platform != "gpu":
        raise ImportError("JAX has no GPU here")

    def f(x: Any) -> Any:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    both = jax.jit(jax.vmap(jax.value_and_grad(f), in_axes=1, out_axes=(0, 1)))
    x = jnp.asarray(rows(dtype))
    return lambda: list(jax.block_until_ready(both(x)))


def _torch(compiled: bool, dtype: str) -> Task:
    import torch

    if not torch.cuda.is_available():
        raise ImportError("PyTorch has no GPU here")
    x = torch.tensor(rows(dtype), device="cuda", requires_grad=True)

    def f(x: Any) -> Any:
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(dim=0)

    function: Any = torch.compile(f) if compiled else f

    def task() -> list[Any]:
        x.grad = None
        y = function(x)
        y.sum().backward()
        torch.cuda.synchronize()
        return [OnGPU(partial(_on_cpu, y.detach())), OnGPU(partial(_on_cpu, x.grad))]

    return task


def _on_cpu(tensor: Any) -> Any:
    return tensor.cpu().numpy()


def _lacks() -> str:
    from gradcli.diagnostics import GradcliError
    from gradcli.engine.backends.selection import devices_of

    try:
        devices_of("cuda")
    except GradcliError as error:
        return error.diagnostics[0].message
    return ""


def _a_row(name: str) -> Callable[[Timings], float | None]:
    return lambda t: t.median(name) / ROWS * 1e9 if name in t else None


def _bandwidth(dtype: str) -> Callable[[Timings], float | None]:
    moved = (2 * COLUMNS + 1) * ROWS * np.dtype(dtype).itemsize
    return lambda t: moved / t.median(COPY) / 1e9


def _workload(dtype: str) -> Workload:
    contenders = {
        "gradcli": _gradcli,
        COPY: _copy,
        "gradcli, host to host": _from_host_to_host,
        "jax (jit)": _jax,
        "torch": partial(_torch, False),
        "torch.compile": partial(_torch, True),
    }
    return Workload(
        f"gpu_{dtype}",
        (
            f"Rosenbrock's function in {COLUMNS} dimensions and its gradient, {ROWS:,} rows on a "
            f"GPU, {dtype}"
        ),
        [
            Contender(name, partial(make, dtype), expected=partial(by_hand, dtype))
            for name, make in contenders.items()
        ],
        [
            Goal("a row", "ns", None, _a_row("gradcli")),
            Goal("a row, host to host", "ns", None, _a_row("gradcli, host to host")),
            Goal("a row, copied", "ns", None, _a_row(COPY)),
            Goal("a row, jax", "ns", None, _a_row("jax (jit)")),
            Goal("a row, torch", "ns", None, _a_row("torch")),
            Goal("memory bandwidth", "GB/s", None, _bandwidth(dtype)),
            Goal("gradcli / bandwidth", "", None, ratio("gradcli", COPY)),
        ],
        rtol=RTOL[dtype],
        lacks=_lacks,
    )


WORKLOADS = [_workload("float64"), _workload("float32")]
