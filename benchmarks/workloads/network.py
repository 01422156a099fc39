"""A dense network as it is trained: three layers, relu, cross-entropy, in both float types; bound
by matrix products."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

BATCH, SIZES = 256, (784, 512, 512, 10)

PROGRAM = """
frozen x: float[n, inputs]
frozen labels: int64[n]
var w1: float[inputs, hidden]
var b1: float[hidden]
var w2: float[hidden, second]
var b2: float[second]
var w3: float[second, classes]
var b3: float[classes]
h = relu(x @ w1 + b1)
h = relu(h @ w2 + b2)
output mean(cross_entropy(h @ w3 + b3, labels))
"""


def _inputs(dtype: str) -> dict[str, Any]:
    random = np.random.default_rng(0)
    inputs: dict[str, Any] = {"x": random.normal(size=(BATCH, SIZES[0])).astype(dtype)}
    inputs["labels"] = random.integers(0, SIZES[-1], BATCH)
    for k, (m, n) in enumerate(pairwise(SIZES), 1):
        inputs[f"w{k}"] = (random.normal(size=(m, n)) * np.sqrt(2.0 / m)).astype(dtype)
        inputs[f"b{k}"] = (random.normal(size=n) * 0.1).astype(dtype)
    return inputs


def _weights(inputs: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in inputs if name not in ("x", "labels"))


def _by_hand(inputs: dict[str, Any]) -> Task:
    """NumPy, in place wherever nobody needs the old values."""
    rows = np.arange(BATCH)

    def task() -> list[Any]:
        x, labels, w1, b1, w2, b2, w3, b3 = inputs.values()
        h1 = x @ w1
        h1 += b1
        np.maximum(h1, 0.0, out=h1)
        h2 = h1 @ w2
        h2 += b2
        np.maximum(h2, 0.0, out=h2)
        z = h2 @ w3
        z += b3
        z -= z.max(axis=1, keepdims=True)
        g = np.exp(z)
        totals = g.sum(axis=1)
        loss = (np.log(totals) - z[rows, labels]).mean()
        g /= totals[:, None]
        g[rows, labels] -= 1.0
        g /= BATCH
        g2 = g @ w3.T
        g2 *= h2 > 0
        g1 = g2 @ w2.T
        g1 *= h1 > 0
        return [loss, x.T @ g1, g1.sum(axis=0), h1.T @ g2, g2.sum(axis=0), h2.T @ g, g.sum(axis=0)]

    return task


def _torch(inputs: dict[str, Any]) -> Task:
    import torch

    torch.set_num_threads(1)
    x, labels, *weights = (torch.tensor(v) for v in inputs.values())
    for w in weights:
        w.requires_grad_()

    def task() -> list[Any]:
        w1, b1, w2, b2, w3, b3 = weights
        h = torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2)
        loss = torch.nn.functional.cross_entropy(h @ w3 + b3, labels)
        return [loss.item(), *(g.numpy() for g in torch.autograd.grad(loss, weights))]

    return task


def _jax(inputs: dict[str, Any]) -> Task:
    import jax
    import jax.numpy as jnp

    x, labels, *weights = (jnp.asarray(v) for v in inputs.values())

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        h = jax.nn.relu(jax.nn.relu(x @ w1 + b1) @ w2 + b2)
        return -jnp.mean(jax.nn.log_softmax(h @ w3 + b3)[jnp.arange(BATCH), labels])

    both = jax.jit(jax.value_and_grad(loss, tuple(range(len(weights)))))

    def task() -> list[Any]:
        value, gradients = jax.block_until_ready(both(*weights))
        return [value, *gradients]

    return task


def _workload(dtype: str) -> Workload:
    inputs = _inputs(dtype)
    return Workload(
        f"network ({dtype})",
        (
            f"a dense network {'-'.join(map(str, SIZES))} with relu on a batch of {BATCH}, "
            "cross-entropy by all weights"
        ),
        [
            tools.contender(PROGRAM, inputs, _weights(inputs), dtype=dtype),
            Contender("NumPy, by hand", lambda: _by_hand(inputs)),
            Contender("jax (jit)", lambda: _jax(inputs)),
            Contender("torch", lambda: _torch(inputs)),
            tools.function(PROGRAM, inputs, dtype),
        ],
        [
            Goal("gradcli / by hand", "", 1.15, ratio("gradcli", "NumPy, by hand")),
            Goal("gradcli / torch", "", 1.0, ratio("gradcli", "torch")),
            tools.CHEAP,
        ],
        rtol=1e-9 if dtype == "float64" else 1e-4,
    )


WORKLOADS = [_workload("float64"), _workload("float32")]
