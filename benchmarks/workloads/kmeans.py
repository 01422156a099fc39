"""Newton's step of k-means: the gradient of the cost, and the diagonal of its Hessian, which is the
product with a vector of ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

POINTS, SIZE, CENTRES = 10_000, 8, 100

PROGRAM = """
frozen points: float[n, d]; frozen centres: float[k, d]
%s
slope = grad(cost)(centres)
diagonal = hvp(cost)(centres, ones_like(centres))
output step = slope / diagonal
"""
COSTS = {
    "gradcli": """
fn cost(centres) = sum(min(sum((expand_dims(points, 1) - centres)**2, axis = 2), axis = 1))
""",
    "gradcli, by products": """
fn cost(centres) {
    distances = sum(centres**2, axis = 1) - 2*points @ centres.T
    return sum(points**2) + sum(min(distances, axis = 1))
}
""",
    "gradcli, point by point": """
fn nearest(point, centres) = min(sum((centres - point)**2, axis = 1))
fn cost(centres) = sum(vmap(nearest, in_axes = [0, none])(points, centres))
""",
}

C = """
#include <math.h>
#include <string.h>

enum { D = 8, K = 100 };

void run(long n, const double *restrict points, const double *restrict centres, double *restrict step) {
    double sums[K][D], counts[K], turned[D][K], distances[K];
    memset(sums, 0, sizeof sums);
    memset(counts, 0, sizeof counts);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < D; j++) turned[j][k] = centres[k*D + j];
    for (long i = 0; i < n; i++) {
        const double *p = points + i*D;
        double least = INFINITY;
        int at = 0;
        for (int k = 0; k < K; k++) {
            double total = 0.0;
            for (int j = 0; j < D; j++) total += (turned[j][k] - p[j])*(turned[j][k] - p[j]);
            distances[k] = total;
        }
        for (int k = 0; k < K; k++) least = fmin(least, distances[k]);
        while (distances[at] != least) at++;
        counts[at] += 1.0;
        for (int j = 0; j < D; j++) sums[at][j] += p[j];
    }
    for (int k = 0; k < K; k++)
        for (int j = 0; j < D; j++) {
            double slope = 2.0*(counts[k]*centres[k*D + j] - sums[k][j]), diagonal = 2.0*counts[k];
            step[k*D + j] = slope/diagonal;
        }
}
"""

RANDOM = np.random.default_rng(0)
GIVEN = {
    "points": RANDOM.normal(size=(POINTS, SIZE)),
    "centres": RANDOM.normal(size=(CENTRES, SIZE)),
}


def _gradcli(cost: str) -> Task:
    import gradcli

    program = gradcli.load(source=PROGRAM % cost).with_options(grad=False)
    return lambda: list(program.run(GIVEN).outputs.values())


def _c() -> Task:
    function = tools.c_function(C)

    def task() -> list[Any]:
        step = np.empty((CENTRES, SIZE))
        function(POINTS, *GIVEN.values(), step)
        return [step]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    points, centres = (jnp.asarray(each) for each in GIVEN.values())

    def cost(centres: Any) -> Any:
        def nearest(point: Any) -> Any:
            return jnp.min(jnp.sum((centres - point) ** 2, axis=1))

        return jnp.sum(jax.vmap(nearest)(points))

    def step(centres: Any) -> Any:
        slope, diagonal = jax.jvp(jax.grad(cost), (centres,), (jnp.ones_like(centres),))
        return slope / diagonal

    ready = jax.jit(step)
    return lambda: [jax.block_until_ready(ready(centres))]


WORKLOADS = [
    Workload(
        "kmeans",
        f"Newton's step of k-means, {POINTS:,} points in {SIZE} dimensions, {CENTRES} centres",
        [
            *(Contender(name, partial(_gradcli, cost)) for name, cost in COSTS.items()),
            Contender(tools.BY_C, _c),
            Contender("jax (jit)", _jax),
        ],
        [Goal("gradcli / C", "", 1.5, ratio("gradcli", tools.BY_C))],
    ),
]
