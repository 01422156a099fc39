"""Gradient descent written in the language: `grad` in a loop, and memory that stays where it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload

STEPS, SHORT, LONG = 2_000, 10_000, 100_000
XS = np.linspace(-1.0, 1.0, 64)
YS = 2.0 * XS + 1.0 + 0.1 * np.sin(9.0 * XS)

PROGRAM = """
frozen steps = 2000
const xs = linspace(-1.0, 1.0, 64)
const ys = 2.0*xs + 1.0 + 0.1*sin(9.0*xs)
var w = 0.0
var b = 0.0
for step in range(steps) {
    loss = mean((w*xs + b - ys)**2)
    g = grad(loss, {w: w, b: b})
    w :-= 0.0001*g.w
    b :-= 0.0001*g.b
}
output mean((w*xs + b - ys)**2)
"""


def by_hand() -> list[float]:
    w = b = 0.0
    for _ in range(STEPS):
        error = w * XS + b - YS
        w -= 0.0001 * 2.0 * (error @ XS) / XS.size
        b -= 0.0001 * 2.0 * error.sum() / XS.size
    error = w * XS + b - YS
    return [error @ error / XS.size, 2.0 * (error @ XS) / XS.size, 2.0 * error.sum() / XS.size]


def _autograd() -> Task:
    import autograd

    def loss(w: Any, b: Any) -> Any:
        error = w * XS + b - YS
        return (error * error).mean()

    gradient, both = autograd.grad(loss, (0, 1)), autograd.value_and_grad(loss, (0, 1))

    def task() -> list[Any]:
        w = b = 0.0
        for _ in range(STEPS):
            dw, db = gradient(w, b)
            w, b = w - 0.0001 * dw, b - 0.0001 * db
        value, gradients = both(w, b)
        return [value, *gradients]

    return task


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    xs, ys = torch.tensor(XS), torch.tensor(YS)

    def task() -> list[Any]:
        w, b = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))
        for _ in range(STEPS):
            dw, db = torch.autograd.grad(((w * xs + b - ys) ** 2).mean(), (w, b))
            with torch.no_grad():
                w -= 0.0001 * dw
                b -= 0.0001 * db
        value = ((w * xs + b - ys) ** 2).mean()
        return [value.item(), *(g.item() for g in torch.autograd.grad(value, (w, b)))]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    xs, ys = jnp.asarray(XS), jnp.asarray(YS)
    both = jax.jit(jax.value_and_grad(lambda w, b: jnp.mean((w * xs + b - ys) ** 2), (0, 1)))

    def task() -> list[Any]:
        w = b = jnp.zeros(())
        for _ in range(STEPS):
            _, (dw, db) = both(w, b)
            w, b = w - 0.0001 * dw, b - 0.0001 * db
        value, gradients = both(w, b)
        return [value, *gradients]

    return task


def _growth(t: Timings) -> float:
    return (
        abs(
            tools.peak_memory(PROGRAM, {"steps": LONG})
            - tools.peak_memory(PROGRAM, {"steps": SHORT})
        )
        / 1e6
    )


WORKLOADS = [
    Workload(
        "training",
        f"{STEPS:,} steps of gradient descent on a line through 64 points",
        [
            tools.contender(PROGRAM, {}, ("w", "b")),
            Contender("NumPy, by hand", lambda: by_hand),
            Contender("autograd", _autograd),
            Contender("torch", _torch),
            Contender("jax (a jitted gradient)", _jax),
        ],
        [
            Goal("a step", "µs", None, lambda t: t.median("gradcli") / STEPS * 1e6),
            Goal(f"memory, from step {SHORT:,} to {LONG:,}", "MB", 5.0, _growth),
        ],
    ),
]
