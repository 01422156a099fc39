"""Kernels whose products are plain until one of them is nan: what they give, and when they become
strict."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf, nan
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.codegen import kernel
from gradcli.engine.codegen.kernel import Kernel, PlainFirst, RowsPlainFirst
from gradcli.engine.codegen.step_back import StepBack
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse

from ..kernels.hot_and_cold import assert_same_in

PROGRAMS = {
    "a root where it has no slope": """
var x = 0.0
s = 1.0
for i in range(30) { s = s + where(x > 0, sqrt(x), 0.5 * s) * 0.1 }
output s""",
    "a root of an array": """
var x = linspace(-1.0, 1.0, 41)
output y = sum(where(x > 0, sqrt(abs(x)) * x, 0.0))""",
    "a loop that its derivative ends": """
var x = 0.0
fn f(v) = where(v > 0, sqrt(v), v**2 - v)
v, n = x, 0
while abs(grad(f)(v)) > 1e-3 and n < 60 { v, n = v - 0.1 * grad(f)(v), n + 1 }
output v
output n""",
    "a side that a derivative chooses": """
var x = 0.0
fn f(v) = where(v > 0, log(v), 2.0 * v)
s = x
for i in range(40) { if grad(f)(x) > 1.0 { s = s + x } else { s = s - 2.0 * x } }
output s""",
    "a function that calls itself": """
var x = 0.0
fn f(v, n) { if n == 0 { return v }; return where(v > 0, sqrt(v), v) + 0.5 * f(v, n - 1) }
output y = f(x, 9)""",
    "a second derivative": """
var x = 0.0
s = 0.0
for i in range(20) { s = s + grad(grad(fn(v) = where(v > 0, v**1.5, v**3 + v)))(x) * x }
output s""",
    "a gradient that is nan": """
var x = 0.0
s = 0.0
for i in range(30) { s = s + sqrt(x) * sqrt(x) }
output s""",
}  # fmt: skip


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_strict_zeros(name: str, tier: int) -> None:
    assert_same_in(tier, PROGRAMS[name])


PRODUCTS = """region f(%0: f64, %1: f64, %2: f64) -> (f64) {
  %3 = strict_mul %0, %1 : f64
  %4 = lt %2, %3 : bool
  check %4
  return %3
}
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The products of the kernels that run, in their order."""
    found: list[str] = []

    class Noting(Kernel):
        def __init__(self, region: Region) -> None:
            super().__init__(region)
            self.product = region.block.instructions[0].op.name

        def run(self, *given: Any) -> Any:
            found.append(self.product)
            return super().run(*given)

    def made(region: Region, stack_bytes: int | None) -> Kernel:
        return Noting(region)

    monkeypatch.setattr(kernel, "Kernel", made)
    return found


def test_a_kernel_is_strict_once_a_product_is_nan(runs: list[str]) -> None:
    with only(NATIVE):
        kernel = PlainFirst(*parse(PRODUCTS))
        results = [kernel.run((a, b, -1.0))[0] for a, b in [(2, 3.0), (0, inf), (0, nan), (2, 3.0)]]
    assert results == [6.0, 0.0, 0.0, 6.0]
    assert runs == ["mul", "mul", "strict_mul", "strict_mul", "strict_mul"]


def test_a_kernel_stays_plain_where_a_strict_one_steps_back_as_well(runs: list[str]) -> None:
    with only(NATIVE):
        kernel = PlainFirst(*parse(PRODUCTS))
        with pytest.raises(StepBack):
            kernel.run((2.0, 3.0, 7.0))
        assert kernel.run((2.0, 3.0, -1.0)) == [6.0]
    assert runs == ["mul", "strict_mul", "mul"]


ROWS = """
const x: float[n]; const y: float[n]
fn f(x, y) {
    s, k = x * y, 0
    while k < 3 { s, k = s * 0.5 + where(y > 0, sqrt(y) * sin(x), x), k + 1 }
    return s
}
output vmap(value_and_grad(f, wrt = [0, 1]))(x, y)
"""


def test_rows() -> None:
    random = np.random.default_rng(0)
    given = {"x": random.normal(size=300), "y": random.uniform(0.5, 2.0, 300)}
    with only(NATIVE, FIRST_USE):
        program = gradcli.load(source=ROWS)
        for _ in range(3):
            [(_, before)] = program.run(given).outputs.values()
        given["y"][[7, 200]] = 0.0
        [(value, found)] = program.run(given).outputs.values()
    with only(INTERPRETED):
        [(expected, wanted)] = gradcli.load(source=ROWS).run(given).outputs.values()
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    others = given["y"] > 0
    for first, own, right in zip(before, found, wanted, strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(own[others], first[others])
    assert found[1][7] == 0.125 * given["x"][7]


def test_threads_make_one_strict_kernel() -> None:
    """Both threads find a nan at once."""
    made: list[str] = []
    both = Barrier(2)

    class OneRow:
        def __init__(self, product: str) -> None:
            self.product = product

        def run(self, *given: Any) -> tuple[list[Any], Any]:
            if self.product == "mul":
                both.wait()
            return [self.product], np.array([self.product == "mul"])

    def make(regions: Sequence[Region]) -> Any:
        made.append(regions[0].block.instructions[0].op.name)
        return OneRow(made[-1])

    kernel = RowsPlainFirst(make, *parse(PRODUCTS))
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda values: kernel.run(1, values), [[], []]))
    assert [results for results, _ in found] == [["strict_mul"]] * 2
    assert made == ["mul", "strict_mul"]
