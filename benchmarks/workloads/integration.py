"""An ordinary differential equation by the classical Runge-Kutta method: a loop over small
vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

STEPS, SIZE = 100, 50
START = np.linspace(0.1, 1.0, SIZE)
WARM = 60  # runs after which the program is compiled

PROGRAM = f"""
var y = zeros([{SIZE}])
fn f(t, y) = -y*y*0.5 + sin(t)*0.1
fn last(y) {{
    t = 0.0; h = 0.01
    for i in range({STEPS}) {{
        a = f(t, y); b = f(t + h/2, y + h/2*a); c = f(t + h/2, y + h/2*b); d = f(t + h, y + h*c)
        y = y + h/6*(a + 2*b + 2*c + d); t = t + h
    }}
    return sum(y*y)
}}
output last(y)
"""


def by_hand() -> list[Any]:
    """The value, and its gradient by a tangent: each component has an equation of its own."""
    y, dy, t, h = START, np.ones(SIZE), 0.0, 0.01

    def f(t: float, y: Any, dy: Any) -> tuple[Any, Any]:
        return -y * y * 0.5 + np.sin(t) * 0.1, -y * dy

    for _ in range(STEPS):
        a, da = f(t, y, dy)
        b, db = f(t + h / 2, y + h / 2 * a, dy + h / 2 * da)
        c, dc = f(t + h / 2, y + h / 2 * b, dy + h / 2 * db)
        d, dd = f(t + h, y + h * c, dy + h * dc)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        dy = dy + h / 6 * (da + 2 * db + 2 * dc + dd)
        t += h
    return [float(np.sum(y * y)), 2 * y * dy]


def _warm() -> Contender:
    """gradcli after so many runs that the program is compiled."""
    cold = tools.contender(PROGRAM, {"y": START}, ("y",))

    def prepare() -> Task:
        task = cold.prepare()
        for _ in range(WARM):
            task()
        return task

    return Contender(cold.name, prepare)


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def f(t: Any, y: Any) -> Any:
        return -y * y * 0.5 + jnp.sin(t) * 0.1

    def step(k: int, state: tuple[Any, Any]) -> tuple[Any, Any]:
        (t, y), h = state, 0.01
        a = f(t, y)
        b = f(t + h / 2, y + h / 2 * a)
        c = f(t + h / 2, y + h / 2 * b)
        return t + h, y + h / 6 * (a + 2 * b + 2 * c + f(t + h, y + h * c))

    def last(y: Any) -> Any:
        y = jax.lax.fori_loop(0, STEPS, step, (0.0, y))[1]
        return (y * y).sum()

    both, start = jax.jit(jax.value_and_grad(last)), jnp.asarray(START)
    return lambda: list(both(start))


WORKLOADS = [
    Workload(
        "integration",
        f"{STEPS} steps of the Runge-Kutta method on a vector of {SIZE}, and the gradient",
        [_warm(), Contender("NumPy, by hand", lambda: by_hand), Contender("jax (jitted)", _jax)],
        [Goal("against NumPy by hand", "×", 0.5, ratio("gradcli", "NumPy, by hand"))],
    )
]
