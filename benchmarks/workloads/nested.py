"""A particle pushed by the gradient of a potential, inside a search that differentiates through its
whole path.

The problem of Pearlmutter and Siskind ("Using polyvariant union-free flow analysis to compile a
higher-order functional-programming language with a first-class derivative operator to efficient
Fortran-like code"): charges at (10, 10 - w) and (10, 0), a particle from (0, 8) with velocity
(0.75, 0), Euler steps of 0.1 until it crosses the axis. The search finds the w that makes it cross
at the origin. The inner derivative is the force, the outer that of the cost by w; each in reverse
or forward mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import gradcli

from ..workload import Contender, Goal, Task, Timings, Workload

FOUND = 0.20719187464861194  # what the search finds, in all that was published of it
WHOLE = 1000  # rounds of the search, more than it takes
SOME = 4  # rounds that all but the fast contenders run

PROGRAM = """
frozen rounds = 1000
fn distance(x, y, cx, cy) = sqrt((x - cx)**2 + (y - cy)**2)
fn cost(w) {
    fn potential(x, y) = 1.0/distance(x, y, 10.0, 10.0 - w) + 1.0/distance(x, y, 10.0, 0.0)
    %(inner)s
    x = 0.0; y = 8.0; vx = 0.75; vy = 0.0
    while true {
        %(push)s
        next = x + 0.1*vx; below = y + 0.1*vy
        if below <= 0.0 {
            at = x - y/vy*vx
            return at*at
        }
        x = next; y = below
        vx = vx - 0.1*ax; vy = vy - 0.1*ay
    }
}
slope = %(outer)s
w = 0.0; f = cost(w); g = slope(w)
eta = 1e-5; better = 0
for k in range(rounds) {
    if abs(g) <= 1e-5 { break }
    if better == 10 { eta = 2.0*eta; better = 0; continue }
    near = w - eta*g
    if abs(w - near) <= 1e-5 { break }
    there = cost(near)
    if there < f { w = near; f = there; g = slope(w); better = better + 1 } else { eta = 0.5*eta; better = 0 }
}
output w
"""
INNER = {
    "reverse": {"inner": "force = grad(potential, wrt = [0, 1])", "push": "ax, ay = force(x, y)"},
    "forward": {
        "inner": "along = jvp(potential, wrt = [0, 1])",
        "push": "ax = along(x, y, v = [1.0, 0.0]); ay = along(x, y, v = [0.0, 1.0])",
    },
}
OUTER = {"reverse": "grad(cost)", "forward": "fn(w) = jvp(cost)(w, 1.0)"}


def program(outer: str, inner: str) -> str:
    return PROGRAM % {"outer": OUTER[outer], **INNER[inner]}


def search(
    cost: Callable[[float], float], slope: Callable[[float], float], rounds: int
) -> list[float]:
    """Gradient descent with a step that grows and shrinks, from 0."""
    w, f, g = 0.0, cost(0.0), slope(0.0)
    eta, better = 1e-5, 0
    for _ in range(rounds):
        if abs(g) <= 1e-5:
            break
        if better == 10:
            eta, better = 2.0 * eta, 0
            continue
        near = w - eta * g
        if abs(w - near) <= 1e-5:
            break
        there = cost(near)
        if there < f:
            w, f, g, better = near, there, slope(near), better + 1
        else:
            eta, better = 0.5 * eta, 0
    return [w]


# ---- by hand -------------------------------------------------------------------------------------


def path(w: float, steps: list[int] | None = None) -> float:
    """The cost, with the force written out."""
    x, y, vx, vy = 0.0, 8.0, 0.75, 0.0
    low = 10.0 - w
    while True:
        if steps is not None:
            steps[0] += 1
        px, py, qy = x - 10.0, y - low, y
        p, q = px * px + py * py, px * px + qy * qy
        p3, q3 = p * math.sqrt(p), q * math.sqrt(q)
        ax, ay = px / p3 + px / q3, py / p3 + qy / q3
        next, below = x + 0.1 * vx, y + 0.1 * vy
        if below <= 0.0:
            at = x - y / vy * vx
            return at * at
        x, y, vx, vy = next, below, vx + 0.1 * ax, vy + 0.1 * ay


def path_slope(w: float, steps: list[int] | None = None) -> float:
    """The cost's derivative, carried along as a tangent."""
    x, y, vx, vy = 0.0, 8.0, 0.75, 0.0
    dx = dy = dvx = dvy = 0.0
    low = 10.0 - w
    while True:
        if steps is not None:
            steps[0] += 1
        px, py, qy, dpy = x - 10.0, y - low, y, dy + 1.0
        p, q = px * px + py * py, px * px + qy * qy
        p3, q3 = p * math.sqrt(p), q * math.sqrt(q)
        kp, kq = -3.0 * (px * dx + py * dpy) / (p * p3), -3.0 * (px * dx + qy * dy) / (q * q3)
        ax, ay = px / p3 + px / q3, py / p3 + qy / q3
        dax, day = dx / p3 + px * kp + dx / q3 + px * kq, dpy / p3 + py * kp + dy / q3 + qy * kq
        next, below = x + 0.1 * vx, y + 0.1 * vy
        if below <= 0.0:
            t = y / vy
            return 2.0 * (x - t * vx) * (dx - (dy - t * dvy) / vy * vx - t * dvx)
        x, y, dx, dy = next, below, dx + 0.1 * dvx, dy + 0.1 * dvy
        vx, vy, dvx, dvy = vx + 0.1 * ax, vy + 0.1 * ay, dvx + 0.1 * dax, dvy + 0.1 * day


def by_hand(rounds: int) -> list[float]:
    return search(path, path_slope, rounds)


@cache
def euler_steps(rounds: int) -> int:
    """The Euler steps that a search of so many rounds takes, of paths and of their slopes."""
    steps = [0]
    search(lambda w: path(w, steps), lambda w: path_slope(w, steps), rounds)
    return steps[0]


# ---- contenders ----------------------------------------------------------------------------------


def _gradcli(outer: str, inner: str) -> Contender:
    def prepare() -> Task:
        ready = gradcli.load(source=program(outer, inner)).with_options(grad=False)
        return lambda: list(ready.run({"rounds": SOME}).outputs.values())

    return _some(f"gradcli, {outer} over {inner}", prepare)


def _some(name: str, prepare: Callable[[], Task]) -> Contender:
    """One that runs the first rounds only: its time is scaled by the Euler steps that the others
    are."""
    share = euler_steps(WHOLE) / euler_steps(SOME)
    return Contender(
        f"{name} (scaled by {share:.0f})", prepare, scale=share, expected=lambda: by_hand(SOME)
    )


def _torch() -> Task:
    import torch

    def cost(w: Any) -> Any:
        def potential(x: Any) -> Any:
            near, far = torch.stack([ten, 10.0 - w]), torch.stack([ten, zero])
            return 1.0 / torch.sqrt(((x - near) ** 2).sum()) + 1.0 / torch.sqrt(
                ((x - far) ** 2).sum()
            )

        x, v = start.clone().requires_grad_(), velocity
        while True:
            (a,) = torch.autograd.grad(potential(x), x, create_graph=True)
            ahead = x + 0.1 * v
            if ahead[1] <= 0.0:
                return (x[0] - x[1] / v[1] * v[0]) ** 2
            x, v = ahead, v - 0.1 * a

    def value(w: float) -> float:
        return cost(torch.tensor(w, dtype=torch.float64)).item()

    def slope(w: float) -> float:
        leaf = torch.tensor(w, dtype=torch.float64, requires_grad=True)
        return torch.autograd.grad(cost(leaf), leaf)[0].item()

    torch.set_num_threads(1)
    ten, zero = (torch.tensor(c, dtype=torch.float64) for c in (10.0, 0.0))
    start, velocity = (torch.tensor(p, dtype=torch.float64) for p in ([0.0, 8.0], [0.75, 0.0]))
    return lambda: search(value, slope, SOME)


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    def cost(w: Any) -> Any:
        def potential(x: Any) -> Any:
            near, far = jnp.stack([10.0, 10.0 - w]), jnp.array([10.0, 0.0])
            return 1.0 / jnp.sqrt(((x - near) ** 2).sum()) + 1.0 / jnp.sqrt(((x - far) ** 2).sum())

        def step(state: Any) -> Any:
            x, v = state
            return x + 0.1 * v, v - 0.1 * jax.grad(potential)(x)

        start = jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0])
        x, v = jax.lax.while_loop(lambda state: state[0][1] + 0.1 * state[1][1] > 0.0, step, start)
        return (x[0] - x[1] / v[1] * v[0]) ** 2

    value, slope = jax.jit(cost), jax.jit(lambda w: jax.jvp(cost, (w,), (1.0,))[1])
    return lambda: search(lambda w: float(value(w)), lambda w: float(slope(w)), WHOLE)


def _step(name: str) -> Callable[[Timings], float | None]:
    full = next(c.name for c in CONTENDERS if c.name.startswith(name))
    return lambda t: t.median(full) / euler_steps(WHOLE) * 1e6


def _whole(t: Timings) -> float:
    return t.median(
        next(c.name for c in CONTENDERS if c.name.startswith("gradcli, reverse over reverse"))
    )


CONTENDERS = [
    *(_gradcli(outer, inner) for outer in OUTER for inner in INNER),
    Contender("plain Python, by hand", lambda: lambda: by_hand(WHOLE), expected=lambda: [FOUND]),
    Contender("jax (jit, forward over reverse)", _jax, expected=lambda: [FOUND]),
    _some("torch, reverse over reverse", _torch),
]

WORKLOADS = [
    Workload(
        "nested",
        (
            f"a search through the paths of a particle, {euler_steps(WHOLE):,} Euler steps, "
            "derivatives inside derivatives"
        ),
        CONTENDERS,
        [
            Goal(
                f"a step, {outer} over {inner}", "µs", None, _step(f"gradcli, {outer} over {inner}")
            )
            for outer in OUTER
            for inner in INNER
        ]
        + [Goal("the whole search, reverse over reverse", "s", 2.5, _whole)],
    ),
]
