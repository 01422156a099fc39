"""A formula on a large vector: bound by how the array functions and memory are used."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

N = 1_000_000
CHUNK = 16_384
X = np.random.default_rng(0).normal(size=N)
C = 0.7

PROGRAM = """
var x: float[n]
var c: float
output mean(softplus(sin(x)*exp(-x**2) + x*c))
"""

C_TEXT = """
#include <math.h>

void run(long n, const double *restrict x, double c, double *restrict sums,
         double *restrict gradient) {
    double total = 0.0, by_c = 0.0;
    for (long i = 0; i < n; i++) {
        double s = sin(x[i]), cosine = sin(x[i] + M_PI_2);  // sin and cos are merged, without vectors
        double e = exp(-x[i]*x[i]), z = s*e + c*x[i], t = exp(-fabs(z));
        double w = (0.5 + copysign(0.5*(1.0 - t)/(1.0 + t), z))/n;
        total += 0.5*(z + fabs(z)) + log1p(t);
        by_c += w*x[i];
        gradient[i] = w*((cosine - 2.0*x[i]*s)*e + c);
    }
    sums[0] = total/n;
    sums[1] = by_c;
}
"""


def _c() -> Task:
    function, sums = tools.c_function(C_TEXT), np.empty(2)

    def task() -> list[Any]:
        gradient = np.empty(N)
        function(N, X, C, sums, gradient)
        return [sums[0], gradient, sums[1]]

    return task


def _by_hand() -> Task:
    """NumPy in pieces that fit into the cache, in buffers that are used again; value and gradient
    in one pass."""
    buffers = [np.empty(CHUNK) for _ in range(5)]

    def task() -> list[Any]:
        total = by_c = 0.0
        gradient = np.empty(N)
        for start in range(0, N, CHUNK):
            x = X[start : start + CHUNK]
            sin, exp, z, t, u = (b[: len(x)] for b in buffers)
            np.sin(x, out=sin)
            np.multiply(x, x, out=exp)
            np.negative(exp, out=exp)
            np.exp(exp, out=exp)
            np.multiply(sin, exp, out=z)
            np.multiply(x, C, out=t)
            np.add(z, t, out=z)  # z = sin(x) exp(-x²) + c x
            np.abs(z, out=t)
            np.negative(t, out=t)
            np.exp(t, out=t)
            np.log1p(t, out=u)
            np.maximum(z, 0.0, out=t)
            np.add(t, u, out=u)
            total += u.sum()
            np.negative(z, out=z)
            np.exp(z, out=z)
            np.add(z, 1.0, out=z)
            np.divide(1.0 / N, z, out=z)  # sigmoid(z) / n
            by_c += z @ x
            np.cos(x, out=t)
            np.multiply(x, sin, out=u)
            np.multiply(u, 2.0, out=u)
            np.subtract(t, u, out=t)
            np.multiply(t, exp, out=t)
            np.add(t, C, out=t)
            np.multiply(t, z, out=gradient[start : start + CHUNK])
        return [total / N, gradient, by_c]

    return task


def _autograd() -> Task:
    import autograd
    import autograd.numpy as anp

    def f(x: Any, c: Any) -> Any:
        z = anp.sin(x) * anp.exp(-(x**2)) + x * c
        return anp.mean(anp.maximum(z, 0.0) + anp.log1p(anp.exp(-anp.abs(z))))

    both = autograd.value_and_grad(lambda xc: f(*xc))

    def task() -> list[Any]:
        value, gradients = both((X, C))
        return [value, *gradients]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def f(x: Any, c: Any) -> Any:
        return jnp.mean(jax.nn.softplus(jnp.sin(x) * jnp.exp(-(x**2)) + x * c))

    both, x = jax.jit(jax.value_and_grad(f, (0, 1))), jnp.asarray(X)

    def task() -> list[Any]:
        value, gradients = jax.block_until_ready(both(x, C))
        return [value, *gradients]

    return task


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    x = torch.tensor(X, requires_grad=True)
    c = torch.tensor(C, dtype=torch.float64, requires_grad=True)

    def task() -> list[Any]:
        x.grad = c.grad = None
        y = torch.nn.functional.softplus(
            torch.sin(x) * torch.exp(-(x**2)) + x * c, threshold=1e9
        ).mean()
        y.backward()
        return [y.item(), x.grad.numpy(), c.grad.item()]

    return task


WORKLOADS = [
    Workload(
        "vector",
        f"mean(softplus(sin(x)*exp(-x**2) + x*c)), {N:,} elements, by x and by c",
        [
            tools.contender(PROGRAM, {"x": X, "c": C}, ("x", "c")),
            Contender("NumPy in pieces, by hand", _by_hand),
            Contender(tools.BY_C, _c),
            Contender("jax (jit)", _jax),
            Contender("torch", _torch),
            Contender("autograd", _autograd),
            tools.function(PROGRAM, {"x": X, "c": C}),
        ],
        [
            Goal("gradcli / by hand", "", 1.4, ratio("gradcli", "NumPy in pieces, by hand")),
            Goal("gradcli / C", "", 1.5, ratio("gradcli", tools.BY_C)),
            Goal("gradcli / jax", "", 1.0, ratio("gradcli", "jax (jit)")),
            tools.CHEAP,
        ],
    ),
]
