"""A small function and its gradient on very many rows: bound by memory, and by what each operation
costs beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload, ratio

ROWS, COLUMNS = 1_000_000, 10
CHUNK = 2_048
X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))

PROGRAM = """
const X: float[n, m]
fn f(x) = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
output vmap(value_and_grad(f))(X)
"""


def _gradcli() -> Task:
    import gradcli

    program = gradcli.load(source=PROGRAM).with_options(grad=False)

    def task() -> list[Any]:
        (both,) = program.run({"X": X}).outputs.values()
        return list(both)

    return task


def _by_hand() -> Task:
    """NumPy on as many rows as fit into the cache, turned so that a row's numbers are far apart, in
    buffers that are used again."""
    x, g = (np.empty((COLUMNS, CHUNK)) for _ in range(2))
    a, b, t = (np.empty((COLUMNS - 1, CHUNK)) for _ in range(3))

    def piece(rows: Any, values: Any, gradients: Any) -> None:
        n = len(rows)
        x[:, :n] = rows.T
        left, right = x[:-1, :n], x[1:, :n]
        steps, rest, squares, total = a[:, :n], b[:, :n], t[:, :n], g[:, :n]
        np.multiply(left, left, out=steps)
        np.subtract(right, steps, out=steps)
        np.subtract(1.0, left, out=rest)
        np.multiply(steps, steps, out=squares)
        np.multiply(squares, 100.0, out=squares)
        squares.sum(axis=0, out=values)
        np.multiply(rest, rest, out=squares)
        values += squares.sum(axis=0)
        np.multiply(steps, 200.0, out=steps)
        np.multiply(rest, -2.0, out=total[:-1])
        total[-1] = 0.0
        total[1:] += steps
        np.multiply(steps, left, out=steps)
        np.multiply(steps, 2.0, out=steps)
        total[:-1] -= steps
        gradients[...] = total.T

    def task() -> list[Any]:
        values, gradients = np.empty(ROWS), np.empty(X.shape)
        for start in range(0, ROWS, CHUNK):
            stop = start + CHUNK
            piece(X[start:stop], values[start:stop], gradients[start:stop])
        return [values, gradients]

    return task


C = """
void run(long rows, const double *restrict xs, double *restrict values,
         double *restrict gradients) {
    for (long i = 0; i < rows; i++) {
        const double *x = xs + 10*i;
        double *g = gradients + 10*i, step[9], rest[9], value = 0.0;
        for (int k = 0; k < 9; k++) {
            step[k] = x[k + 1] - x[k]*x[k];
            rest[k] = 1.0 - x[k];
            value += 100.0*step[k]*step[k] + rest[k]*rest[k];
        }
        for (int k = 0; k < 9; k++) g[k] = -400.0*step[k]*x[k] - 2.0*rest[k];
        g[9] = 0.0;
        for (int k = 0; k < 9; k++) g[k + 1] += 200.0*step[k];
        values[i] = value;
    }
}
"""


def _c() -> Task:
    function = tools.c_function(C)

    def task() -> list[Any]:
        values, gradients = np.empty(ROWS), np.empty(X.shape)
        function(ROWS, X, values, gradients)
        return [values, gradients]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def f(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    both, x = jax.jit(jax.vmap(jax.value_and_grad(f))), jnp.asarray(X)

    def task() -> list[Any]:
        return list(jax.block_until_ready(both(x)))

    return task


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    x = torch.tensor(X, requires_grad=True)

    def task() -> list[Any]:
        x.grad = None
        y = (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(dim=1)
        y.sum().backward()
        return [y.detach().numpy(), x.grad.numpy()]

    return task


def _autograd() -> Task:
    import autograd
    import autograd.numpy as anp

    def f(x: Any) -> Any:
        return anp.sum(100.0 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2, axis=1)

    def task() -> list[Any]:
        back, values = autograd.make_vjp(f)(X)
        return [values, back(np.ones(ROWS))]

    return task


def _a_row(t: Timings) -> float:
    return t.median("gradcli") / ROWS * 1e9


BY_HAND = "NumPy in pieces, by hand"

WORKLOADS = [
    Workload(
        "rows",
        f"Rosenbrock's function in {COLUMNS} dimensions and its gradient, {ROWS:,} rows",
        [
            Contender("gradcli", _gradcli),
            Contender(BY_HAND, _by_hand),
            Contender(tools.BY_C, _c),
            Contender("jax (jit)", _jax),
            Contender("torch", _torch),
            Contender("autograd", _autograd),
        ],
        [
            Goal("a row", "ns", 60.0, _a_row),
            Goal("gradcli / by hand", "", 2.1, ratio("gradcli", BY_HAND)),
            Goal("gradcli / C", "", 1.5, ratio("gradcli", tools.BY_C)),
        ],
    ),
]
