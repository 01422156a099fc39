"""Sparse Jacobians and Hessians: their entries are what the structure says, whatever the values are, by few sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine import derivatives, patterns
from gradcli.engine.colouring import colours, distinct, star, transposed
from gradcli.engine.patterns import Pattern, merged

from .programs import evaluate, outputs
from .random_programs import RELAXED, Program, points, programs


def places(found: dict[str, Any]) -> list[tuple[int, int]]:
    return list(zip(found["rows"].tolist(), found["cols"].tolist(), strict=True))


def dense(found: dict[str, Any]) -> np.ndarray:
    matrix = np.zeros(found["shape"])
    matrix[found["rows"], found["cols"]] = found["values"]
    return matrix


DIAGONAL = [(k, k) for k in range(4)]
BAND = [(k, j) for k in range(4) for j in (k - 1, k, k + 1) if 0 <= j < 4]
TRIANGLE = [(k, j) for k in range(4) for j in range(k + 1)]
FULL = [(k, j) for k in range(4) for j in range(4)]

# The value, of four numbers x, all 0: many partials happen to be zero, and are entries all the same.
STRUCTURES = [
    ("x**2", DIAGONAL),
    ("x * 0.0", DIAGONAL),
    ("where(x > 0, x, x[::-1])", sorted({*DIAGONAL, *((k, 3 - k) for k in range(4))})),
    ("maximum(x, -1.0) + 1", DIAGONAL),
    ("x * x[0]", sorted({*DIAGONAL, *((k, 0) for k in range(4))})),
    ("x[1:] - x[:-1]", [(k, j) for k in range(3) for j in (k, k + 1)]),
    ("concatenate([[0.0], x[:-1]]) + x + concatenate([x[1:], [0.0]])", BAND),
    ("pad(x, 1)[:-2] * x * pad(x, 1)[2:]", BAND),
    ("roll(x, 1)", [(0, 3), (1, 0), (2, 1), (3, 2)]),
    ("x.reshape(2, 2).T.ravel()", [(0, 0), (1, 2), (2, 1), (3, 3)]),
    ("sum(x.reshape(2, 2), axis = 0)", [(0, 0), (0, 2), (1, 1), (1, 3)]),
    ("mean(x.reshape(2, 2), axis = 1)", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    ("max(x.reshape(2, 2), axis = 1, keepdims = true)", [(0, 0), (0, 1), (1, 2), (1, 3)]),
    ("softmax(x.reshape(2, 2), axis = 0)", [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (3, 1), (3, 3)]),
    ("norm(x.reshape(2, 2), axis = 0)", [(0, 0), (0, 2), (1, 1), (1, 3)]),
    ("cumsum(x)", TRIANGLE),
    ("cumprod(x)", TRIANGLE),
    ("cumsum(x.reshape(2, 2), axis = 1)", [(0, 0), (1, 0), (1, 1), (2, 2), (3, 2), (3, 3)]),
    ("sort(x)", FULL),
    ("[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]] @ x", FULL[:8]),
    ("outer(x, [1.0, 0.0])", [(2 * k + j, k) for k in range(4) for j in (0, 1)]),
    ("take(x, [3, 3, 0])", [(0, 3), (1, 3), (2, 0)]),
    ("scatter_add(zeros(3), [2, 2, 0, 2], x)", [(0, 2), (2, 0), (2, 1), (2, 3)]),
    ("tile(x, 2)[3:5]", [(0, 3), (1, 0)]),
    ("diag(x).ravel()[:6]", [(0, 0), (5, 1)]),
    ("tril(x.reshape(2, 2)).ravel()", [(0, 0), (2, 2), (3, 3)]),
    ("trace(x.reshape(2, 2))", [(0, 0), (0, 3)]),
    ("split(x, 2)[1]", [(0, 2), (1, 3)]),
    ("[x[2], sin(x[0]) * x[1], 1.0]", [(0, 2), (1, 0), (1, 1)]),
    ("detach(x) * x", DIAGONAL),
]


@pytest.mark.parametrize(("text", "expected"), STRUCTURES, ids=[text for text, _ in STRUCTURES])
def test_structures(text: str, expected: list[tuple[int, int]]) -> None:
    for mode in ("auto", "reverse", "forward"):
        asked = f's = jacobian(y, x, sparse = true, mode = "{mode}"); j = jacobian(y, x)'
        source = f"var x = zeros(4); y = array({text}); {asked}; output s, j"
        found = outputs(source)
        assert places(found["s"]) == expected
        assert found["s"]["shape"] == [found["j"].size // 4, 4]
        np.testing.assert_array_equal(dense(found["s"]), found["j"].reshape(-1, 4))
