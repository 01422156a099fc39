"""Steps of gradient descent on a small network, in a loop: what a step costs beside its few
numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..workload import Contender, Goal, Task, Timings, Workload

STEPS, SOME = 10_000, 500
SIZES = 4, 8, 1
RATE = 0.1

FORMS = {
    "gradcli": """
frozen x: float[n, d]; frozen y: float[n]
frozen w1: float[d, h]; frozen b1: float[h]; frozen w2: float[h]; frozen b2: float
frozen steps = 10000
fn loss(w) = mean((tanh(x @ w[0] + w[1]) @ w[2] + w[3] - y)**2)
w = [w1, b1, w2, b2]
for k in range(steps) {
    g = grad(loss)(w)
    w = [v - 0.1*s for v, s in zip(w, g)]
}
output w
""",
    "gradcli, variables": """
frozen x: float[n, d]; frozen y: float[n]
var w1: float[d, h]; var b1: float[h]; var w2: float[h]; var b2: float
frozen steps = 10000
for k in range(steps) {
    loss = mean((tanh(x @ w1 + b1) @ w2 + b2 - y)**2)
    [g1, c1, g2, c2] = grad(loss, [w1, b1, w2, b2])
    w1 :-= 0.1*g1; b1 :-= 0.1*c1; w2 :-= 0.1*g2; b2 :-= 0.1*c2
}
output [w1, b1, w2, b2]
""",
}

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(16, SIZES[0]))
Y = np.sin(X).sum(axis=1)
WEIGHTS = {
    "w1": 0.5 * RANDOM.normal(size=SIZES[:2]),
    "b1": np.zeros(SIZES[1]),
    "w2": 0.5 * RANDOM.normal(size=SIZES[1]),
    "b2": 0.0,
}


def _gradcli(source: str) -> Task:
    import gradcli

    program = gradcli.load(source=source).with_options(grad=False)

    def task() -> list[Any]:
        (found,) = program.run({"x": X, "y": Y, **WEIGHTS, "steps": STEPS}).outputs.values()
        return found

    return task


def _by_hand(steps: int) -> list[Any]:
    w1, b1, w2, b2 = WEIGHTS.values()
    for _ in range(steps):
        h = np.tanh(X @ w1 + b1)
        r = (h @ w2 + b2 - Y) * (2.0 / len(Y))
        by_h = np.outer(r, w2) * (1.0 - h * h)
        w1, b1 = w1 - RATE * (X.T @ by_h), b1 - RATE * by_h.sum(axis=0)
        w2, b2 = w2 - RATE * (r @ h), b2 - RATE * r.sum()
    return [w1, b1, w2, b2]


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    x, y = jnp.asarray(X), jnp.asarray(Y)

    def loss(w: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w[0] + w[1]) @ w[2] + w[3] - y) ** 2)

    def step(_: Any, w: Any) -> Any:
        return jax.tree.map(lambda v, g: v - RATE * g, w, jax.grad(loss)(w))

    ready = jax.jit(lambda w: jax.lax.fori_loop(0, STEPS, step, w))
    weights = [jnp.asarray(w) for w in WEIGHTS.values()]
    return lambda: jax.block_until_ready(ready(weights))


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    x, y = torch.tensor(X), torch.tensor(Y)

    def task() -> list[Any]:
        w1, b1, w2, b2 = w = [torch.tensor(each, dtype=torch.float64) for each in WEIGHTS.values()]
        for each in w:
            each.requires_grad_()
        for _ in range(SOME):
            loss = torch.mean((torch.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)
            gradients = torch.autograd.grad(loss, w)
            with torch.no_grad():
                for each, g in zip(w, gradients, strict=True):
                    each -= RATE * g
        return [each.detach().numpy() for each in w]

    return task


def _a_step(name: str) -> Callable[[Timings], float]:
    return lambda t: t.median(name) / STEPS * 1e6


WORKLOADS = [
    Workload(
        "descent",
        f"{STEPS:,} steps of gradient descent on a network {'-'.join(map(str, SIZES))}, 16 samples",
        [
            *(Contender(name, partial(_gradcli, source)) for name, source in FORMS.items()),
            Contender("NumPy, by hand", lambda: lambda: _by_hand(STEPS)),
            Contender("jax (jit, fori_loop)", _jax),
            Contender(
                f"torch (scaled by {STEPS // SOME})",
                _torch,
                scale=STEPS / SOME,
                expected=lambda: _by_hand(SOME),
            ),
        ],
        [Goal(f"a step, {name}", "µs", 15.0, _a_step(name)) for name in FORMS],
        rtol=1e-7,
    ),
]
