"""Rows that take a loop as often as each needs to: what it costs that they part, and a solver
against masks made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Contender, Goal, Task, Timings, Workload

ROWS, TURNS = 10_000, 1_000
RANDOM = np.random.default_rng(0)
XS, COUNTS = RANDOM.normal(size=ROWS), RANDOM.integers(1, TURNS + 1, size=ROWS).astype(float)
LOOP = """
frozen xs: float[n]
frozen counts: float[n]
fn f(x, count) { s = x; i = 0.0; while i < count { s = s * 0.999 + sin(s) * 0.01 * x; i = i + 1 }; return s }
output vmap(value_and_grad(f))(xs, counts)
"""

A = RANDOM.uniform(0.5, 20.0, size=100_000)
NEWTON = """
frozen a: float[n]
fn root(a) { x = 1.0 + 0.5 * (a - 1.0); while abs(x * x - a) > 1e-9 * a { x = (x + a / x) / 2 }; return x }
output vmap(value_and_grad(root))(a)
"""


def _gradcli(source: str, inputs: dict[str, Any]) -> Task:
    import gradcli

    program = gradcli.load(source=source).with_options(grad=False)

    def task() -> list[Any]:
        (both,) = program.run(inputs).outputs.values()
        return list(both)

    return task


def _together(xs: Any, counts: Any) -> list[Any]:
    """The same in NumPy, with masks: every row goes as often as the one that goes most often."""
    s, t = xs.copy(), np.ones_like(xs)
    for i in range(int(counts.max())):
        going = i < counts
        t = np.where(going, t * (0.999 + np.cos(s) * 0.01 * xs) + np.sin(s) * 0.01, t)
        s = np.where(going, s * 0.999 + np.sin(s) * 0.01 * xs, s)
    return [s, t]


# As many turns in all, and no row leaves before the others.
EQUAL = np.full(int(COUNTS.sum()) // TURNS, float(TURNS))


def _torch() -> Task:
    import torch

    def task() -> list[Any]:
        a = torch.tensor(A, requires_grad=True)
        x = 1.0 + 0.5 * (a - 1.0)
        while True:
            going = torch.abs(x * x - a) > 1e-9 * a
            if not going.any():
                break
            x = torch.where(going, (x + a / x) / 2, x)
        x.sum().backward()
        return [x.detach().numpy(), a.grad.numpy()]

    return task


def _apart(t: Timings) -> float:
    return t.ratio("gradcli", "gradcli, all rows equally long")


def _newton(t: Timings) -> float | None:
    return t.ratio("gradcli", "torch, masks by hand") if "torch, masks by hand" in t else None


WORKLOADS = [
    Workload(
        "diverging",
        f"{ROWS:,} rows that leave a loop after 1 to {TURNS:,} turns, value and gradient",
        [
            Contender("gradcli", lambda: _gradcli(LOOP, {"xs": XS, "counts": COUNTS})),
            Contender("NumPy, masks by hand", lambda: lambda: _together(XS, COUNTS)),
            Contender(
                "gradcli, all rows equally long",
                lambda: _gradcli(LOOP, {"xs": XS[: len(EQUAL)], "counts": EQUAL}),
                expected=lambda: _together(XS[: len(EQUAL)], EQUAL),
            ),
        ],
        [Goal("over the same work without divergence", "x", 3.0, _apart)],
        rtol=1e-8,
    ),
    Workload(
        "newton_rows",
        f"a square root by Newton's method for each of {len(A):,} rows, value and gradient",
        [
            Contender("gradcli", lambda: _gradcli(NEWTON, {"a": A})),
            Contender("torch, masks by hand", _torch),
        ],
        [Goal("over PyTorch with masks made by hand", "x", 1.0, _newton)],
        rtol=1e-5,
    ),
]
