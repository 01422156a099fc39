"""A formula of some thirty operations on very many rows, and its gradient: what an option costs, by
Black and Scholes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload, ratio

ROWS = 1_000_000
RANDOM = np.random.default_rng(0)
RANGES = {"s": (80, 120), "k": (80, 120), "t": (0.1, 2.0), "v": (0.1, 0.5), "r": (0.0, 0.05)}
COLUMNS = {name: RANDOM.uniform(*ends, ROWS) for name, ends in RANGES.items()}

PROGRAM = (
    "\n".join(f"const {name}: float[n]" for name in COLUMNS)
    + """
fn normal_cdf(x) = 0.5 * (1 + erf(x / sqrt(2.0)))
fn price(s, k, t, v, r) {
    spread = v * sqrt(t)
    d = (log(s / k) + (r + v**2 / 2) * t) / spread
    return s * normal_cdf(d) - k * exp(-r * t) * normal_cdf(d - spread)
}
output vmap(value_and_grad(price, wrt = [0, 1, 2, 3, 4]))(s, k, t, v, r)
"""
)


def _gradcli() -> Task:
    import gradcli

    program = gradcli.load(source=PROGRAM).with_options(grad=False)

    def task() -> list[Any]:
        ((value, gradients),) = program.run(COLUMNS).outputs.values()
        return [value, *gradients]

    return task


def _by_hand() -> Task:
    """The formulas that a book has, whole arrays at a time."""
    from scipy.special import ndtr

    def task() -> list[Any]:
        s, k, t, v, r = COLUMNS.values()
        root = np.sqrt(t)
        d = (np.log(s / k) + (r + v**2 / 2) * t) / (v * root)
        discount, density = np.exp(-r * t), np.exp(-d * d / 2) / np.sqrt(2 * np.pi)
        here, there = ndtr(d), ndtr(d - v * root)
        due = discount * there
        return [
            s * here - k * due,
            here,
            -due,
            s * density * v / (2 * root) + r * k * due,
            s * density * root,
            k * t * due,
        ]

    return task


C = """
#include <math.h>

void run(long n, const double *restrict s, const double *restrict k, const double *restrict t,
         const double *restrict v, const double *restrict r, double *restrict value,
         double *restrict by_s, double *restrict by_k, double *restrict by_t, double *restrict by_v,
         double *restrict by_r) {
    for (long i = 0; i < n; i++) {
        double root = sqrt(t[i]), spread = v[i]*root;
        double d = (log(s[i]/k[i]) + (r[i] + 0.5*v[i]*v[i])*t[i])/spread;
        double here = 0.5*(1.0 + erf(d*M_SQRT1_2)), there = 0.5*(1.0 + erf((d - spread)*M_SQRT1_2));
        double due = exp(-r[i]*t[i])*there;
        double density = s[i]*exp(-0.5*d*d)*0.5*M_2_SQRTPI*M_SQRT1_2;
        value[i] = s[i]*here - k[i]*due;
        by_s[i] = here;
        by_k[i] = -due;
        by_t[i] = 0.5*density*v[i]/root + r[i]*k[i]*due;
        by_v[i] = density*root;
        by_r[i] = k[i]*t[i]*due;
    }
}
"""


def _c() -> Task:
    function = tools.c_function(C)

    def task() -> list[Any]:
        found = [np.empty(ROWS) for _ in range(1 + len(COLUMNS))]
        function(ROWS, *COLUMNS.values(), *found)
        return found

    return task


def _price(np_: Any, erf: Any, s: Any, k: Any, t: Any, v: Any, r: Any) -> Any:
    spread = v * np_.sqrt(t)
    d = (np_.log(s / k) + (r + v**2 / 2) * t) / spread
    cdf = [0.5 * (1 + erf(x / 2.0**0.5)) for x in (d, d - spread)]
    return s * cdf[0] - k * np_.exp(-r * t) * cdf[1]


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def price(*row: Any) -> Any:
        return _price(jnp, jax.scipy.special.erf, *row)

    both = jax.jit(jax.vmap(jax.value_and_grad(price, argnums=tuple(range(len(COLUMNS))))))
    columns = [jnp.asarray(column) for column in COLUMNS.values()]

    def task() -> list[Any]:
        value, gradients = jax.block_until_ready(both(*columns))
        return [value, *gradients]

    return task


def _torch() -> Task:
    import torch

    torch.set_num_threads(1)
    columns = [torch.tensor(column, requires_grad=True) for column in COLUMNS.values()]

    def task() -> list[Any]:
        for column in columns:
            column.grad = None
        value = _price(torch, torch.erf, *columns)
        value.sum().backward()
        return [value.detach().numpy(), *(column.grad.numpy() for column in columns)]

    return task


def _a_row(t: Timings) -> float:
    return t.median("gradcli") / ROWS * 1e9


JAX = "jax (jit)"

WORKLOADS = [
    Workload(
        "formula",
        f"the price of an option and its gradient by five numbers, {ROWS:,} rows",
        [
            Contender("gradcli", _gradcli),
            Contender("NumPy, by hand", _by_hand),
            Contender(tools.BY_C, _c),
            Contender(JAX, _jax),
            Contender("torch", _torch),
        ],
        [
            Goal("gradcli / JAX", "", 1.0, ratio("gradcli", JAX)),
            Goal("gradcli / C", "", 1.3, ratio("gradcli", tools.BY_C)),
            Goal("a row", "ns", None, _a_row),
        ],
    ),
]
