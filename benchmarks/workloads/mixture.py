"""The log likelihood of a mixture of normal distributions, and its gradient.

The model is ADBench's (see `bundle`): each distribution has a lower triangular matrix, the inverse
of a factor of its covariance, with the logarithms of the diagonal first and what is below after it,
column by column; and a Wishart prior.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

POINTS, SIZE, PARTS = 1_000, 20, 25
GAMMA = 1.0

PROGRAM = """
const x: float[n, d]; const places: int64[d, d]
var weights: float[k]; var means: float[k, d]; var factors: float[k, m]
const gamma = 1.0
n, d = x.shape
logs = factors[:, :d]
lower = tril(factors[:, places], -1)
logdets = sum(logs, axis = 1)
%s
prior = 0.5*gamma**2*(sum(exp(logs)**2) + sum(lower**2)) - sum(logdets)
output likely - prior
"""
ARRAYS = (
    PROGRAM
    % """
away = x - expand_dims(means, 1)
moved = away*expand_dims(exp(logs), 1) + away @ swapaxes(lower, 1, 2)
likely = sum(logsumexp(weights + logdets - 0.5*sum(moved**2, axis = 2).T, axis = 1)) - n*logsumexp(weights)
"""
)
EACH = (
    PROGRAM
    % """
fn at(x) {
    away = x - means
    moved = away*exp(logs) + einsum("kij,kj->ki", lower, away)
    return logsumexp(weights + logdets - 0.5*sum(moved**2, axis = 1))
}
likely = sum(vmap(at)(x)) - n*logsumexp(weights)
"""
)


def _given() -> dict[str, Any]:
    random = np.random.default_rng(0)
    row, column = np.indices((SIZE, SIZE))
    below = SIZE + column * SIZE - column * (column + 1) // 2 + row - column - 1
    return {
        "x": random.normal(size=(POINTS, SIZE)),
        "places": np.where(row > column, below, 0),
        "weights": random.normal(size=PARTS),
        "means": random.normal(size=(PARTS, SIZE)),
        "factors": 0.3 * random.normal(size=(PARTS, SIZE * (SIZE + 1) // 2)),
    }


GIVEN = _given()
BY = ("weights", "means", "factors")


def _by_hand() -> Task:
    """NumPy, with products of matrices."""
    x, places, weights, means, factors = GIVEN.values()
    below = np.tril_indices(SIZE, -1)

    def task() -> list[Any]:
        scale = np.exp(factors[:, :SIZE])
        whole = np.tril(factors[:, places], -1)
        whole[:, range(SIZE), range(SIZE)] = scale
        away = x - means[:, None]
        moved = away @ whole.transpose(0, 2, 1)
        logits = weights + factors[:, :SIZE].sum(axis=1) - 0.5 * (moved * moved).sum(axis=2).T
        top = logits.max(axis=1, keepdims=True)
        shares = np.exp(logits - top)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        a_priori = np.exp(weights - weights.max())
        value = (
            (top + np.log(total)).sum()
            - POINTS * (weights.max() + math.log(a_priori.sum()))
            - 0.5 * GAMMA**2 * (whole * whole).sum()
            + factors[:, :SIZE].sum()
        )
        each = shares.sum(axis=0)
        moved *= shares.T[:, :, None]
        by_whole = -moved.transpose(0, 2, 1) @ away - GAMMA**2 * whole
        by_factors = np.empty_like(factors)
        by_factors[:, :SIZE] = by_whole[:, range(SIZE), range(SIZE)] * scale + each[:, None] + 1.0
        by_factors[:, places[below]] = by_whole[:, *below]
        by_means = (moved.sum(axis=1)[:, None] @ whole)[:, 0]
        return [value, each - POINTS * a_priori / a_priori.sum(), by_means, by_factors]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    x, places = jnp.asarray(GIVEN["x"]), GIVEN["places"]

    def value(weights: Any, means: Any, factors: Any) -> Any:
        logs, lower = factors[:, :SIZE], jnp.tril(factors[:, places], -1)
        away = x - means[:, None]
        moved = away * jnp.exp(logs)[:, None] + jnp.einsum("knj,kij->kni", away, lower)
        logits = weights + logs.sum(axis=1) - 0.5 * (moved**2).sum(axis=2).T
        lse = jax.scipy.special.logsumexp
        likely = lse(logits, axis=1).sum() - POINTS * lse(weights)
        prior = 0.5 * GAMMA**2 * ((jnp.exp(logs) ** 2).sum() + (lower**2).sum()) - logs.sum()
        return likely - prior

    both = jax.jit(jax.value_and_grad(value, (0, 1, 2)))
    given = [jnp.asarray(GIVEN[name]) for name in BY]

    def task() -> list[Any]:
        found, gradients = jax.block_until_ready(both(*given))
        return [found, *gradients]

    return task


JAX = "jax (jit)"

WORKLOADS = [
    Workload(
        "mixture",
        f"the log likelihood of {POINTS:,} points in {SIZE} dimensions in a mixture of {PARTS} normal distributions",
        [
            tools.contender(ARRAYS, GIVEN, BY),
            tools.contender(EACH, GIVEN, BY, "gradcli, point by point"),
            Contender("NumPy, by hand", _by_hand),
            Contender(JAX, _jax),
            tools.function(ARRAYS, GIVEN),
        ],
        [Goal("gradcli / jax", "", 0.77, ratio("gradcli", JAX)), tools.CHEAP],
    ),
]
