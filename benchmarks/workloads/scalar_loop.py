"""A loop of scalar operations with a condition in it: what eager frameworks are slowest at."""

from __future__ import annotations

import math
from typing import Any

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload

N = 100_000
SHARE = 100  # eager peers run 1 / SHARE of the iterations
X = 0.5

PROGRAM = """
frozen n = 100000
var x = 0.5
s = 0.0
for i in range(n) {
    s = s*0.999 + sin(x*i)*0.01
    if s > 0.01 { s = s - 0.1*x }
}
output s
"""


def by_hand(n: int) -> list[float]:
    """Value and tangent side by side: a derivative that only one input has."""
    x, s, ds = X, 0.0, 0.0
    sin, cos = math.sin, math.cos
    for i in range(n):
        t = x * i
        s = s * 0.999 + sin(t) * 0.01
        ds = ds * 0.999 + cos(t) * i * 0.01
        if s > 0.01:
            s -= 0.1 * x
            ds -= 0.1
    return [s, ds]


def _loop(x: Any, n: int, sin: Any) -> Any:
    s = 0.0
    for i in range(n):
        s = s * 0.999 + sin(x * i) * 0.01
        if s > 0.01:
            s = s - 0.1 * x
    return s


def _autograd() -> Task:
    import autograd
    import autograd.numpy as np

    both = autograd.value_and_grad(lambda x: _loop(x, N // SHARE, np.sin))
    return lambda: both(X)


def _torch() -> Task:
    import torch

    def task() -> list[float]:
        x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
        s = _loop(x, N // SHARE, torch.sin)
        s.backward()
        return [s.item(), x.grad.item()]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def step(x: Any, s: Any, i: Any) -> Any:
        s = s * 0.999 + jnp.sin(x * i) * 0.01
        return jnp.where(s > 0.01, s - 0.1 * x, s)

    def loop(x: Any) -> Any:
        return jax.lax.scan(lambda s, i: (step(x, s, i), None), 0.0, jnp.arange(N, dtype=float))[0]

    both = jax.jit(jax.value_and_grad(loop))
    return lambda: jax.block_until_ready(both(X))


def _microseconds(t: Timings) -> float:
    return t.median("gradcli") / N * 1e6


WORKLOADS = [
    Workload(
        "scalar_loop",
        f"{N:,} x `s = s*0.999 + sin(x*i)*0.01; if s > 0.01 {{ s = s - 0.1*x }}`, d s / d x",
        [
            tools.contender(PROGRAM, {}, ("x",)),
            Contender("plain Python, by hand", lambda: lambda: by_hand(N)),
            Contender("jax (jit, scan)", _jax),
            Contender(
                f"autograd (scaled by {SHARE})",
                _autograd,
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
        [
            Goal("an iteration", "µs", 4.0, _microseconds),
            Goal(
                "an operation on the trace",
                "bytes",
                120.0,
                lambda t: tools.bytes_per_operation(PROGRAM, {"n": N}),
            ),
        ],
    ),
]
