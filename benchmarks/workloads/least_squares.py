"""The squared residual of a linear system: two products with a matrix, bound by memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

ROWS, COLUMNS = 4_096, 128
RANDOM = np.random.default_rng(0)
A, B, X = (RANDOM.normal(size=shape) for shape in ((ROWS, COLUMNS), ROWS, COLUMNS))

PROGRAM = """
const a: float[n, m]; const b: float[n]
var x: float[m]
output 0.5*sum((a @ x - b)**2)
"""


def _by_hand() -> list[Any]:
    rest = A @ X - B
    return [0.5 * rest @ rest, rest @ A]


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    a, b, x = (jnp.asarray(each) for each in (A, B, X))
    both = jax.jit(jax.value_and_grad(lambda x, a, b: 0.5 * jnp.sum((a @ x - b) ** 2)))
    return lambda: list(jax.block_until_ready(both(x, a, b)))


JAX = "jax (jit)"

WORKLOADS = [
    Workload(
        "least_squares",
        f"0.5*sum((a @ x - b)**2), {ROWS:,} rows and {COLUMNS} columns, and its gradient",
        [
            tools.contender(PROGRAM, {"a": A, "b": B, "x": X}, ("x",)),
            Contender("NumPy, by hand", lambda: _by_hand),
            Contender(JAX, _jax),
        ],
        [Goal("gradcli / jax", "", 1.0, ratio("gradcli", JAX))],
    ),
]
