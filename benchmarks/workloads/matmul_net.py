"""A small dense network, its loss and the gradients of its weights: bound by matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

BATCH, INPUTS, HIDDEN, CLASSES = 64, 784, 64, 10
_random = np.random.default_rng(0)
X = _random.normal(size=(BATCH, INPUTS))
LABELS = _random.integers(0, CLASSES, BATCH)
WEIGHTS = {
    "w1": _random.normal(size=(INPUTS, HIDDEN)) / 28.0,
    "b1": np.zeros(HIDDEN),
    "w2": _random.normal(size=(HIDDEN, CLASSES)) / 8.0,
    "b2": np.zeros(CLASSES),
}
GIVEN = {"x": X, "labels": LABELS, **WEIGHTS}

PROGRAM = """
frozen x: float[n, inputs]
frozen labels: int64[n]
var w1: float[inputs, hidden]
var b1: float[hidden]
var w2: float[hidden, classes]
var b2: float[classes]
output mean(cross_entropy(tanh(x @ w1 + b1) @ w2 + b2, labels))
"""


def by_hand() -> list[Any]:
    w1, b1, w2, b2 = WEIGHTS.values()
    h = np.tanh(X @ w1 + b1)
    z = h @ w2 + b2
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    totals = e.sum(axis=1)
    rows = np.arange(BATCH)
    loss = (np.log(totals) - z[rows, LABELS]).mean()
    g = e / totals[:, None]
    g[rows, LABELS] -= 1.0
    g /= BATCH
    inner = (g @ w2.T) * (1.0 - h * h)
    return [loss, X.T @ inner, inner.sum(axis=0), h.T @ g, g.sum(axis=0)]


def _autograd() -> Task:
    import autograd
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        z = anp.tanh(X @ w1 + b1) @ w2 + b2
        return anp.mean(logsumexp(z, axis=1) - z[anp.arange(BATCH), LABELS])

    both = autograd.value_and_grad(lambda ws: loss(*ws))

    def task() -> list[Any]:
        value, gradients = both(tuple(WEIGHTS.values()))
        return [value, *gradients]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    x, labels = jnp.asarray(X), jnp.asarray(LABELS)
    weights = [jnp.asarray(w) for w in WEIGHTS.values()]

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        logs = jax.nn.log_softmax(jnp.tanh(x @ w1 + b1) @ w2 + b2)
        return -jnp.mean(logs[jnp.arange(BATCH), labels])

    both = jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3)))

    def task() -> list[Any]:
        value, gradients = jax.block_until_ready(both(*weights))
        return [value, *gradients]

    return task


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    x, labels = torch.tensor(X), torch.tensor(LABELS)
    weights = [torch.tensor(w, requires_grad=True) for w in WEIGHTS.values()]

    def task() -> list[Any]:
        w1, b1, w2, b2 = weights
        loss = torch.nn.functional.cross_entropy(torch.tanh(x @ w1 + b1) @ w2 + b2, labels)
        return [loss.item(), *(g.numpy() for g in torch.autograd.grad(loss, weights))]

    return task


WORKLOADS = [
    Workload(
        "matmul_net",
        (
            f"a dense network {INPUTS}-{HIDDEN}-{CLASSES} on a batch of {BATCH}, its loss by all "
            "weights"
        ),
        [
            tools.contender(PROGRAM, GIVEN, tuple(WEIGHTS)),
            Contender("NumPy, by hand", lambda: by_hand),
            Contender("jax (jit)", _jax),
            Contender("torch", _torch),
            Contender("autograd", _autograd),
            tools.function(PROGRAM, GIVEN),
        ],
        [Goal("gradcli / by hand", "", None, ratio("gradcli", "NumPy, by hand")), tools.CHEAP],
    ),
]
