"""A trace of millions of records: memory grows with them, and not at all where nothing is
active."""

from __future__ import annotations

from .. import tools
from ..workload import Contender, Goal, Timings, Workload

SMALL, LARGE = 300_000, 1_000_000  # both run as machine code, so that both load LLVM
X = 0.4

PROGRAM = """
frozen n = 1000000
var x = 0.4
s = 1.0
for i in range(n) { s = s*x + 1.0 - 0.5*s }
output s
"""
INACTIVE = PROGRAM.replace("var x", "const x")


def by_hand() -> list[float]:
    x, s, ds = X, 1.0, 0.0
    for _ in range(LARGE):
        ds = ds * x + s - 0.5 * ds
        s = s * x + 1.0 - 0.5 * s
    return [s, ds]


def _records(source: str, n: int) -> int:
    return tools.executed(source, {"n": n})[0].trace.number


def _operations(source: str, n: int) -> int:
    return tools.operations(tools.executed(source, {"n": n})[1])


def _growth(source: str) -> int:
    """Bytes of peak memory from the small loop to the large one."""
    return tools.peak_memory(source, {"n": LARGE}) - tools.peak_memory(source, {"n": SMALL})


def _bytes_an_operation(t: Timings) -> float:
    return _growth(PROGRAM) / (_operations(PROGRAM, 1000) / 1000 * (LARGE - SMALL))


WORKLOADS = [
    Workload(
        "million",
        f"{LARGE:,} x `s = s*x + 1.0 - 0.5*s`, d s / d x",
        [
            tools.contender(PROGRAM, {}, ("x",)),
            Contender("plain Python, by hand", lambda: by_hand),
        ],
        [
            Goal("an iteration", "µs", None, lambda t: t.median("gradcli") / LARGE * 1e6),
            Goal("resident memory, an operation on the trace", "bytes", 150.0, _bytes_an_operation),
            Goal("records, nothing active", "", 0.0, lambda t: _records(INACTIVE, 1000)),
            Goal("memory grows, nothing active", "MB", 1.0, lambda t: _growth(INACTIVE) / 1e6),
        ],
    ),
]
