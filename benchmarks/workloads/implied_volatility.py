"""Newton's method in each row, with a derivative in each of its steps: the volatilities that prices
of options imply."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Contender, Goal, Task, Workload, ratio
from .formula import COLUMNS as OPTIONS

ROWS = 100_000
COLUMNS = {name: OPTIONS[name][:ROWS] for name in "sktr"}

PROGRAM = """
frozen price: float[n]; frozen s: float[n]; frozen k: float[n]; frozen t: float[n]; frozen r: float[n]
fn normal_cdf(x) = 0.5 * (1 + erf(x / sqrt(2.0)))
fn value(v, s, k, t, r) {
    spread = v * sqrt(t)
    d = (log(s / k) + (r + v**2 / 2) * t) / spread
    return s * normal_cdf(d) - k * exp(-r * t) * normal_cdf(d - spread)
}
fn implied(price, s, k, t, r) {
    v = sqrt(2.0 / t * abs(log(s / k) + r * t)) + 0.05
    while true {
        worth, vega = value_and_grad(value)(v, s, k, t, r)
        if abs(worth - price) <= 1e-9 * s { return v }
        v = v - (worth - price) / vega
    }
}
output vmap(value_and_grad(implied))(price, s, k, t, r)
"""


def _prices() -> Any:
    from scipy.special import ndtr

    s, k, t, v, r = (OPTIONS[name][:ROWS] for name in "sktvr")
    d = (np.log(s / k) + (r + v**2 / 2) * t) / (v * np.sqrt(t))
    return s * ndtr(d) - k * np.exp(-r * t) * ndtr(d - v * np.sqrt(t))


def _gradcli() -> Task:
    import gradcli

    program = gradcli.load(source=PROGRAM).with_options(grad=False)
    given = {"price": _prices(), **COLUMNS}

    def task() -> list[Any]:
        (both,) = program.run(given).outputs.values()
        return list(both)

    return task


def _numba() -> Task:
    """The loop, and what it does to a change of the price: each step's own derivatives, in
    order."""
    import numba

    half, root = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)

    @numba.njit(fastmath=True, error_model="numpy")
    def solve(price: Any, s: Any, k: Any, t: Any, r: Any, found: Any, slopes: Any) -> None:
        for i in range(len(s)):
            forward = math.log(s[i] / k[i]) + r[i] * t[i]
            due, time = k[i] * math.exp(-r[i] * t[i]), math.sqrt(t[i])
            v, slope = math.sqrt(2.0 / t[i] * abs(forward)) + 0.05, 0.0
            while True:
                d = forward / (v * time) + 0.5 * v * time
                e = d - v * time
                worth = s[i] * 0.5 * (1.0 + math.erf(d * half)) - due * 0.5 * (
                    1.0 + math.erf(e * half)
                )
                if abs(worth - price[i]) <= 1e-9 * s[i]:
                    break
                vega = s[i] * time * root * math.exp(-0.5 * d * d)
                step = (worth - price[i]) / vega
                slope = 1.0 / vega + slope * step * d * e / v  # of the vega: vega d e / v
                v -= step
            found[i], slopes[i] = v, slope

    given = (_prices(), *COLUMNS.values())

    def task() -> list[Any]:
        found, slopes = np.empty(ROWS), np.empty(ROWS)
        solve(*given, found, slopes)
        return [found, slopes]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def value(v: Any, s: Any, k: Any, t: Any, r: Any) -> Any:
        spread = v * jnp.sqrt(t)
        d = (jnp.log(s / k) + (r + v**2 / 2) * t) / spread
        cdf = jax.scipy.stats.norm.cdf
        return s * cdf(d) - k * jnp.exp(-r * t) * cdf(d - spread)

    def implied(price: Any, s: Any, k: Any, t: Any, r: Any) -> Any:
        def step(state: Any) -> Any:
            v, _ = state
            worth, vega = jax.value_and_grad(value)(v, s, k, t, r)
            going = jnp.abs(worth - price) > 1e-9 * s
            return jnp.where(going, v - (worth - price) / vega, v), going

        start = jnp.sqrt(2.0 / t * jnp.abs(jnp.log(s / k) + r * t)) + 0.05
        return jax.lax.while_loop(lambda state: state[1], step, (start, True))[0]

    def both(price: Any, *row: Any) -> Any:
        return jax.jvp(lambda price: implied(price, *row), (price,), (1.0,))

    solve = jax.jit(jax.vmap(both))
    given = [jnp.asarray(column) for column in (_prices(), *COLUMNS.values())]
    return lambda: list(jax.block_until_ready(solve(*given)))


NUMBA = "numba, by hand"

WORKLOADS = [
    Workload(
        "implied_volatility",
        f"Newton's method with a gradient in its loop, for each of {ROWS:,} options, value and gradient",
        [
            Contender("gradcli", _gradcli),
            Contender(NUMBA, _numba),
            Contender("jax (jit, forward)", _jax),
        ],
        [Goal("gradcli / numba", "", 1.0, ratio("gradcli", NUMBA))],
        rtol=1e-5,
    ),
]
