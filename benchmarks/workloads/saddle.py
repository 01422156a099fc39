"""A minimum of maxima: a search whose every step searches, with derivatives inside derivatives.

The problem of Pearlmutter and Siskind (see `nested`), whose search it shares: of the function
x1² + y1² - (x2² + y2²) the largest value over x2 and y2, and of these the smallest over x1 and y1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..workload import Contender, Goal, Task, Workload, milliseconds

PROGRAM = """
const start = [1.0, 1.0]
fn argmin(f, slope, x) {
    here = f(x); g = slope(x)
    eta = 1e-5; better = 0
    while true {
        if norm(g) <= 1e-5 { return x }
        if better == 10 { eta = 2.0*eta; better = 0; continue }
        near = x - eta*g
        if norm(x - near) <= 1e-5 { return x }
        there = f(near)
        if there < here { x = near; here = there; g = slope(x); better = better + 1 } else { eta = 0.5*eta; better = 0 }
    }
}
fn f(a, b) = sum(a**2) - sum(b**2)
fn highest(a) {
    fn below(b) = -f(a, b)
    return argmin(below, %(inner)s(below%(inner_mode)s), start)
}
fn most(a) = f(a, highest(a))
a = argmin(most, %(outer)s(most%(outer_mode)s), start)
b = highest(a)
output [a, b]
"""
MODES = {"reverse": ("grad", ""), "forward": ("jacobian", ', mode = "forward"')}


def program(outer: str, inner: str) -> str:
    names = "outer", "outer_mode", "inner", "inner_mode"
    return PROGRAM % dict(zip(names, MODES[outer] + MODES[inner], strict=True))


Point = tuple[float, float]


def _argmin(f: Callable[[Point], float], slope: Callable[[Point], Point]) -> Point:
    x = (1.0, 1.0)
    here, g = f(x), slope(x)
    eta, better = 1e-5, 0
    while math.hypot(*g) > 1e-5:
        if better == 10:
            eta, better = 2.0 * eta, 0
            continue
        near = x[0] - eta * g[0], x[1] - eta * g[1]
        if math.hypot(x[0] - near[0], x[1] - near[1]) <= 1e-5:
            break
        there = f(near)
        if there < here:
            x, here, g, better = near, there, slope(near), better + 1
        else:
            eta, better = 0.5 * eta, 0
    return x


def _by_hand() -> list[Any]:
    """With slopes written out; that of the largest value is found where the value is found."""

    def f(a: Point, b: Point) -> float:
        return a[0] ** 2 + a[1] ** 2 - b[0] ** 2 - b[1] ** 2

    def highest(a: Point) -> Point:
        return _argmin(lambda b: -f(a, b), lambda b: (2.0 * b[0], 2.0 * b[1]))

    def slope(a: Point) -> Point:
        highest(a)
        return 2.0 * a[0], 2.0 * a[1]

    a = _argmin(lambda a: f(a, highest(a)), slope)
    return [[a, highest(a)]]


def _gradcli(outer: str, inner: str) -> Task:
    import gradcli

    ready = gradcli.load(source=program(outer, inner)).with_options(grad=False)
    return lambda: list(ready.run().outputs.values())


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def argmin(f: Any, slope: Any) -> Any:
        def going(state: Any) -> Any:
            _, _, g, eta, better = state
            short = jnp.linalg.norm(eta * g) <= 1e-5
            return (jnp.linalg.norm(g) > 1e-5) & ((better == 10) | ~short)

        def turn(state: Any) -> Any:
            return jax.lax.cond(state[4] == 10, double, step, state)

        def double(state: Any) -> Any:
            x, here, g, eta, _ = state
            return x, here, g, 2.0 * eta, 0

        def step(state: Any) -> Any:
            x, here, g, eta, better = state
            near = x - eta * g
            there = f(near)

            def forth(_: Any) -> Any:
                return near, there, slope(near), eta, better + 1

            def stay(_: Any) -> Any:
                return x, here, g, 0.5 * eta, 0

            return jax.lax.cond(there < here, forth, stay, None)

        start = jnp.ones(2)
        return jax.lax.while_loop(going, turn, (start, f(start), slope(start), 1e-5, 0))[0]

    def f(a: Any, b: Any) -> Any:
        return jnp.sum(a**2) - jnp.sum(b**2)

    def highest(a: Any) -> Any:
        below = lambda b: -f(a, b)  # noqa: E731
        return argmin(below, jax.grad(below))

    def search() -> Any:
        most = lambda a: f(a, highest(a))  # noqa: E731
        a = argmin(most, jax.jacfwd(most))
        return jnp.stack([a, highest(a)])

    ready = jax.jit(search)
    return lambda: [jax.block_until_ready(ready())]


NAMES = {f"gradcli, {outer} over {inner}": (outer, inner) for outer in MODES for inner in MODES}

WORKLOADS = [
    Workload(
        "saddle",
        "a minimum of maxima, each by gradient descent, derivatives inside derivatives",
        [
            *(Contender(name, partial(_gradcli, *modes)) for name, modes in NAMES.items()),
            Contender("plain Python, by hand", lambda: _by_hand),
            Contender("jax (jit, forward over reverse)", _jax),
        ],
        [Goal(name.removeprefix("gradcli, "), "ms", 100.0, milliseconds(name)) for name in NAMES],
    ),
]
