"""Rows that fail together fail as they do alone, and cost no runs of their own."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial
from typing import Any

import numpy as np
import pytest

from gradcli.engine.row_runs import Failed, RowRuns
from gradcli.tasks.answer import prepare
from gradcli.tasks.batch.answers import ask
from gradcli.tasks.evaluation import Options

from .one_by_one import parsed

N = 200
RANDOM = np.random.default_rng(0)
X = np.where(RANDOM.random(N) < 0.3, -1.0, 1.0) * (0.5 + RANDOM.random(N))
K = RANDOM.integers(-1, 7, N)  # 0 in some rows
HEAD = "var x\nconst k: int64\n"
MANY = 2 * N

# A program, and how often it may run: once for each place and sort of rows; often only where a row
# must run alone to be understood.
PROGRAMS = {
    "an index of a list": ("t = [1.0, 2.0, 3.0]\ny = t[k] * x", 6),
    "an index of an array": ("t = array([1.0, 2.0, 3.0])\ny = t[k] * x", 2),
    "indices of an array with rows": ("t = ones([3, 4]) * x\ny = t[k, 2 * k]", 3),
    "an array of indices": ("t = array([1.0, 2.0, 3.0])\ny = sum(t[[0, k]]) * x", 2),
    "an index in a branch": (
        "t = array([1.0, 2.0, 3.0])\ny = 0 * x\nif k < 4 { y = t[k] * x }", 2
    ),
    "an element to assign in a branch": ("t = ones([3]) * x\nif k < 4 { t[k] = x }\ny = sum(t)", 2),
    "an index of a list in a branch": (
        "t = [1.0, 2.0, 3.0]\ny = 0 * x\nif k < 4 { y = t[k] * x }", 7
    ),
    "an element to assign": ("t = array([1.0, 2.0, 3.0])\nt[k] = x\ny = sum(t)", 2),
    "an item to assign": ("t = [1.0, 2.0, 3.0]\nt[k] = x\ny = sum(t)", 9),
    "a list in a loop": ("t = [0.2, 0.9, 1.1]\ni = 0\nwhile t[i] < abs(x) { i += 1 }\ny = x * i", 2),
    "an int division": ("y = 7 // k * x", 2),
    "a remainder of arrays": ("y = sum([7, k, 3] % [2, 3, k]) * x", 2),
    "an int overflow": ("y = 10**(4 * k + 1) * x", 4),
    "an int overflow in a loop": ("p = 10\nfor i in range(6) { p *= p * k }\ny = x * p", 3),
    "a function in a branch": (
        "fn f(a) {\n  if a > 0 { return 100 // k * a }\n  return 50 % k * a\n}\ny = f(x) + f(2 * x)",
        3,
    ),
    "a loop over rows": ("s = 0.0\nfor v in [k, 2 * k, k - 1] { s += 6 // v }\ny = s * x", MANY),
    "a loop that shows its turn": ("s = 0.0\nfor i in range(3) { s += 6 // (k + i) }\ny = s * x", 3),
    "none": ("v = none\nif x > 0 { v = x }\ny = 2 * v", 3),
    "an expectation": ("expect x > 0\ny = x", 1),
    "an expectation of equal numbers": ("expect abs(x) ~= x\ny = x", N),
    "an expectation of what was computed": ("z = exp(x)\nexpect z > 1\ny = x", N),
    "expectations in a function": (
        'fn f(a) {\n  expect a > 0\n  expect k > 0, "too small"\n  return a\n}\ny = f(x)', 1
    ),
    "an expectation that one side has": ("if k > 2 { expect x > 0 } else { expect k > 0 }\ny = x", 1),
    "an expectation that none fulfils": ("expect x > 2\ny = x", 1),
    "an expectation of a list": ("l = [x, 1.0]\nexpect all(l > 0)\ny = x", N),
    "an expectation with values": ('expect x > 0, f"at {k}"\ny = x', N),
    "an expectation before an error": ("expect x > 0\ny = 7 // k * x", 3),
    "an error that is expected": ('expect error "zero" { z = 7 // k }\ny = x', MANY),
    "a matrix": ("a = cholesky([[x, 0.0], [0.0, 1.0]])\ny = sum(a)", MANY),
    "rows of vmap": ("fn f(a) = 7 // (k + a)\ny = sum(vmap(f)(array([0, 1, 2]))) * x", MANY),
    "a derivative": ("fn f(a) = a**2 * (7 // k)\ny = grad(f)(x)", 2),
    "a number of elements": ("y = sum(ones([3 - k])) * x", 7),
}  # fmt: skip


def diagnostics(found: Any) -> dict[int, list[Any]]:
    """What is told of each row that fails."""
    return {
        row: [astuple(each) for each in told]
        for answer in found
        if isinstance(answer, Failed)
        for row, told in zip(answer.rows.tolist(), answer.diagnostics, strict=True)
    }


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_alone(name: str, dtype: str) -> None:
    text, runs = PROGRAMS[name]
    options = Options(dtype=dtype)
    node = parsed(HEAD + text)
    columns = {"x": X.astype(dtype), "k": K}
    rows = RowRuns(prepare(node, options), {}, columns, partial(ask, options))
    together = diagnostics(rows.answers(N))
    assert rows.runs <= runs
    alone = diagnostics(rows.singly(np.arange(N)))
    assert together == alone
    assert together
