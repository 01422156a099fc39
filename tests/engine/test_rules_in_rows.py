"""Functions with a derivative rule of their own, where rows run together."""

from __future__ import annotations

import pytest

from .ways import verify_every_way

INFINITE = "fn h(a) { return a * a } backward (dy) { return dy * log(a) }\n"
PROGRAMS = {
    "a rule that is infinite in a row": (INFINITE + "fn row(u, w) { return h(u) * w }", [0.0, 1.0, 2.0]),
    "an infinite share of what has no weight": (INFINITE + "fn row(u, w) { return h(u) * (u - 1.0) }", [0.0, 1.0, 2.0]),
    "an infinite share that nothing depends on": (INFINITE + "fn row(u, w) { return where(u > 0.5, h(u), w) }", [0.0, 1.0, 2.0]),
    "an infinite share of another shape": (
        "fn h(a) { return [a, a**2] } backward (dy) { return dy[0] * log(a) + dy[1] }\n"
        "fn row(u, w) { v = h(u); return where(u > 0.5, v[0] * w, u) }",
        [0.0, 1.0, 2.0],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    functions, rows = PROGRAMS[name]
    verify_every_way(functions, rows)
