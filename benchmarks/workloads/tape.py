"""A tape opened and closed around nothing: what asking for one costs."""

from __future__ import annotations

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload

N = 100_000
PROGRAM = """
frozen n = 100000
var x = 0.4
for i in range(n) { tape t { } }
output x**2
"""
WITHOUT = PROGRAM.replace("tape t { }", "")
LOOP = "gradcli, the loop alone"


def _torch() -> Task:
    import torch

    def task() -> None:
        for _ in range(N):
            with torch.enable_grad():
                pass

    return task


def _by_hand() -> Task:
    def task() -> None:
        for _ in range(N):
            pass

    return task


def _microseconds(t: Timings) -> float:
    return (t.median("gradcli") - t.median(LOOP)) / N * 1e6


WORKLOADS = [
    Workload(
        "tape",
        f"{N:,} x `tape t {{ }}`",
        [
            tools.contender(PROGRAM, {}, ("x",), expected=lambda: [0.16, 0.8]),
            tools.contender(WITHOUT, {}, ("x",), name=LOOP, expected=lambda: [0.16, 0.8]),
            Contender("plain Python, an empty loop", _by_hand),
            Contender("torch, `with enable_grad()`", _torch),
        ],
        [Goal("a tape entered and left", "µs", 2.0, _microseconds)],
    ),
]
