"""The logarithm of a sum of exponentials, on a large vector: a reduction with two passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

N = 640_000
X = np.random.default_rng(0).normal(size=N)

PROGRAM = "var x: float[n]\noutput logsumexp(x)\n"


def _by_hand() -> list[Any]:
    top = X.max()
    shares = np.subtract(X, top)
    np.exp(shares, out=shares)
    total = shares.sum()
    np.divide(shares, total, out=shares)
    return [top + np.log(total), shares]


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    both, x = jax.jit(jax.value_and_grad(jax.scipy.special.logsumexp)), jnp.asarray(X)
    return lambda: list(jax.block_until_ready(both(x)))


JAX = "jax (jit)"

WORKLOADS = [
    Workload(
        "log_sum_exp",
        f"logsumexp(x), {N:,} elements, and its gradient",
        [
            tools.contender(PROGRAM, {"x": X}, ("x",)),
            Contender("NumPy, by hand", lambda: _by_hand),
            Contender(JAX, _jax),
            tools.function(PROGRAM, {"x": X}),
        ],
        [Goal("gradcli / jax", "", 1.0, ratio("gradcli", JAX)), tools.CHEAP],
    ),
]
