"""Elements read and written one at a time, with gradients through all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload

N, SIZE = 100_000, 1000
SHARE = 100
X = np.random.default_rng(0).normal(size=SIZE)

PROGRAM = """
frozen n = 100000
var x: float[m]
m = len(x)
a = zeros(m)
for i in range(n) { a[i % m] = 0.5*a[i % m] + sin(x[i*7 % m]) }
output sum(a)
"""


def by_hand(n: int) -> list[Any]:
    x = X.tolist()
    a, g, by_x = [0.0] * SIZE, [1.0] * SIZE, [0.0] * SIZE
    for i in range(n):
        a[i % SIZE] = 0.5 * a[i % SIZE] + math.sin(x[i * 7 % SIZE])
    for i in reversed(range(n)):
        k, j = i % SIZE, i * 7 % SIZE
        by_x[j] += g[k] * math.cos(x[j])
        g[k] *= 0.5
    return [sum(a), np.array(by_x)]


def _torch() -> Task:
    import torch

    def task() -> list[Any]:
        x = torch.tensor(X, requires_grad=True)
        a = torch.zeros(SIZE, dtype=torch.float64)
        for i in range(N // SHARE):
            a[i % SIZE] = 0.5 * a[i % SIZE].clone() + torch.sin(x[i * 7 % SIZE])
        y = a.sum()
        y.backward()
        return [y.item(), x.grad.numpy()]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def f(x: Any) -> Any:
        def step(a: Any, i: Any) -> Any:
            return a.at[i % SIZE].set(0.5 * a[i % SIZE] + jnp.sin(x[i * 7 % SIZE])), None

        return jnp.sum(jax.lax.scan(step, jnp.zeros(SIZE), jnp.arange(N // SHARE))[0])

    both, x = jax.jit(jax.value_and_grad(f)), jnp.asarray(X)
    return lambda: jax.block_until_ready(both(x))


def _seconds(t: Timings) -> float:
    return t.median("gradcli")


WORKLOADS = [
    Workload(
        "indexed",
        f"{N:,} x `a[i % m] = 0.5*a[i % m] + sin(x[i*7 % m])`, sum(a) by x, m = {SIZE:,}",
        [
            tools.contender(PROGRAM, {"x": X}, ("x",)),
            Contender("plain Python, by hand", lambda: lambda: by_hand(N)),
            Contender(
                f"jax (jit, scan; scaled by {SHARE})",
                _jax,
                scale=SHARE,
                expected=lambda: by_hand(N // SHARE),
            ),
            Contender(
                f"torch (scaled by {SHARE})",
                _torch,
                scale=SHARE,
                expected=lambda: by_hand(N // SHARE),
            ),
        ],
        [Goal("value and gradient", "s", 2.0, _seconds)],
    ),
]
