"""Jacobians and Hessians of what has few entries, whole and sparse: by how many sweeps, and what
one costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradcli

from ..workload import Contender, Goal, Task, Workload, milliseconds

N, M = 1000, 200
X = np.linspace(-1.5, 1.0, N)
Y = np.tile([-1.2, 1.0], M // 2)

BROYDEN = """
var x: float[n]
r = (3 - 2*x)*x - concatenate([[0.0], x[:-1]]) - 2*concatenate([x[1:], [0.0]]) + 1
output r
"""
ROSENBROCK = """
var x: float[n]
odd = x[0::2]
even = x[1::2]
f = sum(100*(even - odd**2)**2 + (1 - odd)**2)
output f
"""


def _gradcli(source: str, x: Any, kind: str, sparse: bool = False) -> Callable[[], Task]:
    def prepare() -> Task:
        asked = {"jacobian": kind == "jacobians", "hessian": kind == "hessians", "sparse": sparse}
        program = gradcli.load(source=source).with_options(grad=False, **asked)

        def task() -> list[Any]:
            answer = program.run({"x": x})
            (value,), (row,) = answer.outputs.values(), getattr(answer, kind).values()
            found = row["x"]
            return (
                [value, found["rows"], found["cols"], found["values"]] if sparse else [value, found]
            )

        return task

    return prepare


# ---- Broyden's tridiagonal function --------------------------------------------------------------


def _broyden(m: Any, x: Any) -> Any:
    zero = m.zeros(1, dtype=x.dtype)
    return (3 - 2 * x) * x - m.concatenate((zero, x[:-1])) - 2 * m.concatenate((x[1:], zero)) + 1


def _bands() -> tuple[Any, Any, Any]:
    """Rows, columns and values of what isn't zero."""
    k = np.arange(N)
    rows = np.concatenate([k[1:], k, k[:-1]])
    columns = np.concatenate([k[1:] - 1, k, k[:-1] + 1])
    values = np.concatenate([np.full(N - 1, -1.0), 3 - 4 * X, np.full(N - 1, -2.0)])
    return rows, columns, values


def _filled() -> list[Any]:
    rows, columns, values = _bands()
    matrix = np.zeros((N, N))
    matrix[rows, columns] = values
    return [_broyden(np, X), matrix]


def _listed() -> list[Any]:
    rows, columns, values = _bands()
    order = np.lexsort((columns, rows))
    return [_broyden(np, X), rows[order], columns[order], values[order]]


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    f = lambda x: _broyden(jnp, x)  # noqa: E731
    both, x = jax.jit(lambda x: (f(x), jax.jacfwd(f)(x))), jnp.asarray(X)
    return lambda: jax.block_until_ready(both(x))


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    x = torch.tensor(X)
    f = lambda x: _broyden(torch, x)  # noqa: E731
    return lambda: [f(x).numpy(), torch.func.jacfwd(f)(x).numpy()]


def _autograd() -> Task:
    import autograd
    import autograd.numpy as anp

    f = lambda x: _broyden(anp, x)  # noqa: E731
    jacobian = autograd.jacobian(f)
    return lambda: [f(X), jacobian(X)]


def _casadi(dense: bool) -> Callable[[], Task]:
    def prepare() -> Task:
        import casadi

        x = casadi.SX.sym("x", N)
        f = (3 - 2 * x) * x - casadi.vertcat(0, x[:-1]) - 2 * casadi.vertcat(x[1:], 0) + 1
        jacobian = casadi.jacobian(f, x)
        both = casadi.Function("both", [x], [f, casadi.densify(jacobian) if dense else jacobian])

        def task() -> list[Any]:
            value, found = both(X)
            if dense:
                return [value.full().ravel(), found.full()]
            columns, rows = (
                np.asarray(k) for k in (found.sparsity().get_colind(), found.sparsity().row())
            )
            columns = np.repeat(np.arange(N), np.diff(columns))
            order = np.lexsort((columns, rows))
            return [
                value.full().ravel(),
                rows[order],
                columns[order],
                np.asarray(found.nonzeros())[order],
            ]

        return task

    return prepare


# ---- Rosenbrock's extended function --------------------------------------------------------------


def _rosenbrock(m: Any, x: Any) -> Any:
    odd, even = x[0::2], x[1::2]
    return m.sum(100 * (even - odd**2) ** 2 + (1 - odd) ** 2)


def _blocks() -> list[Any]:
    odd, even, k = Y[0::2], Y[1::2], np.arange(0, M, 2)
    matrix = np.zeros((M, M))
    matrix[k, k] = 1200 * odd**2 - 400 * even + 2
    matrix[k, k + 1] = matrix[k + 1, k] = -400 * odd
    matrix[k + 1, k + 1] = 200
    return [_rosenbrock(np, Y), matrix]


def _jax_hessian() -> Task:
    import jax
    import jax.numpy as jnp

    f = lambda x: _rosenbrock(jnp, x)  # noqa: E731
    both, y = jax.jit(lambda x: (f(x), jax.hessian(f)(x))), jnp.asarray(Y)
    return lambda: jax.block_until_ready(both(y))


def _torch_hessian() -> Task:
    import torch

    torch.set_num_threads(1)
    y = torch.tensor(Y)
    f = lambda x: _rosenbrock(torch, x)  # noqa: E731
    return lambda: [f(y).item(), torch.func.hessian(f)(y).numpy()]


def _autograd_hessian() -> Task:
    import autograd
    import autograd.numpy as anp

    f = lambda x: _rosenbrock(anp, x)  # noqa: E731
    hessian = autograd.hessian(f)
    return lambda: [f(Y), hessian(Y)]


WORKLOADS = [
    Workload(
        "jacobian",
        f"Broyden's tridiagonal function, n = {N:,}: value and whole Jacobian",
        [
            Contender("gradcli", _gradcli(BROYDEN, X, "jacobians")),
            Contender("NumPy, filled by hand", lambda: _filled),
            Contender("jax (jit, jacfwd)", _jax),
            Contender("torch (jacfwd)", _torch),
            Contender("casadi", _casadi(dense=True)),
            Contender("autograd", _autograd),
        ],
        [Goal("value and Jacobian", "ms", 0.2, milliseconds("gradcli"))],
    ),
    Workload(
        "jacobian_sparse",
        f"Broyden's tridiagonal function, n = {N:,}: value and the entries of the Jacobian",
        [
            Contender("gradcli", _gradcli(BROYDEN, X, "jacobians", sparse=True)),
            Contender("NumPy, listed by hand", lambda: _listed),
            Contender("casadi", _casadi(dense=False)),
        ],
        [Goal("value and entries", "ms", 0.25, milliseconds("gradcli"))],
    ),
    Workload(
        "hessian",
        f"Rosenbrock's extended function, n = {M}: value and whole Hessian",
        [
            Contender("gradcli", _gradcli(ROSENBROCK, Y, "hessians")),
            Contender("NumPy, filled by hand", lambda: _blocks),
            Contender("jax (jit)", _jax_hessian),
            Contender("torch", _torch_hessian),
            Contender("autograd", _autograd_hessian),
        ],
        [Goal("value and Hessian", "ms", 0.06, milliseconds("gradcli"))],
    ),
]
