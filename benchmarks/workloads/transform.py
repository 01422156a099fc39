"""Transforms of small functions, called again and again: what a call costs over that of the
function itself.

`f` is read as a formula once it is hot, and so are its derivatives; `g` has a branch, and each side
of it is read; `h` has a loop of a number of turns that is written, and is read turn by turn; that
of `w` takes as many as it takes, so functions are written that run it there and back; that of `k`
can't be read, so `k` is called, recorded and swept.
"""

from __future__ import annotations

import math

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload

N = 10_000
PROGRAM = """
frozen x = 0.7
fn f(x) { y = x*x + sin(x); return y*x }
fn g(x) { y = x*x + sin(x); if y < 0.0 { return y }; return y*x }
fn h(x) { y = x; for i in range(2) { y = y*x + sin(x) }; return y }
fn w(x) { y = x; while y*y < 90.0 { y = y*1.1 + sin(x) }; return y }
fn k(x) { y = x; for i in range(len([x, x])) { y = y*x + sin(x) }; return y }
for i in range(10000) { z = %s }
output z
"""
CALLS = ["grad(f)(x)", "grad(g)(x)", "value_and_grad(g)(x)[1]", "jvp(g)(x, 1.0)",
    "grad(grad(f))(x)", "grad(grad(g))(x)",
         "grad(h)(x)", "jvp(h)(x, 1.0)", "grad(w)(x)", "jvp(w)(x, 1.0)", "grad(grad(w))(x)",
         "grad(k)(x)", "jvp(k)(x, 1.0)", "value_and_grad(k)(x)[1]"]  # fmt: skip


def _gradcli(call: str) -> Contender:
    return tools.function(PROGRAM % call, {}, name=f"gradcli, {call}")


def _by_hand() -> Task:
    def slope(x: float) -> float:
        return 3.0 * x * x + math.sin(x) + x * math.cos(x)

    def task() -> None:
        for _ in range(N):
            slope(0.7)

    return task


def _over(call: str) -> Goal:
    plain = f"{call[call.index(')') - 1]}(x)"

    def measure(t: Timings) -> float:
        return (t.median(f"gradcli, {call}") - t.median(f"gradcli, {plain}")) / N * 1e6

    return Goal(
        f"{call}, over {plain}", "µs", 20.0 if call.startswith("grad(grad") else 10.0, measure
    )


WORKLOADS = [
    Workload(
        "transform",
        f"{N:,} calls of a transform of a function of two statements",
        [
            *(_gradcli(call) for call in ("f(x)", "g(x)", "h(x)", "w(x)", "k(x)", *CALLS)),
            Contender("plain Python, by hand", _by_hand),
        ],
        [_over(call) for call in CALLS],
    ),
]
