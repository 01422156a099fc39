"""The budget of bytes for what loops keep for their pullbacks: above it they keep what blocks of
iterations begin with, and give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.backends.tiers import FIRST_USE, NATIVE, STACK_BYTES, WRITTEN, only
from gradcli.engine.codegen.step_back import StepBack
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.kernels.region_calls import LinearizedRegion, RegionCall

FEW = 2**12  # bytes, which some hundred iterations need
FUNCTIONS = {
    "for": "s = a\n for i in range(n) { s = sin(s)*a + 0.3*b }\n return s*a",
    "for that uses its number": "s = a\n for i in range(n, 0, -1) { s = sin(s)*a + 0.001*i*b }\n return s + b",
    "while": "s = a; i = 0\n while i < n { s = sin(s)*a + 0.3*b*s**2; i += 1 }\n return s + i*a",
    "while with a tolerance": "s = a; d = 1.0; i = 0\n while abs(d) > 1e-300 and i < n { d = cos(s)*a - s; s = s + 0.01*d*b; i += 1 }\n return s",
    "loops in a loop": "s = a\n for i in range(n // 20) { t = s*b\n  for j in range(20) { t = sin(t)*a + 0.1 }\n  s = t + 0.3*s }\n return s",
    "a loop after a loop": "s = a; t = b\n for i in range(n) { s = sin(s)*a }\n for i in range(n) { t = sin(t + s) }\n return s*t",
    "a loop in a branch": "s = a\n if a > 0.1 { for i in range(n) { s = sin(s)*a + b } } else { s = b }\n return s",
    "branches in a loop": "s = a*1.5; t = b*0.5\n for i in range(n) { if s > 0.4 { s = sin(s)*t } else { t = tanh(t + s); s = s + 0.3*a } }\n return s + t",
    "what may not be connected": "s = 0.1; t = a\n for i in range(n) { if i % 400 == 399 { s = t*b }; t = sin(t) + 0.2 }\n return s",
    "an array": "s = a*ones(9); t = b\n for i in range(n) { s[i % 9] = sin(s[(i + 4) % 9]*t); t = tanh(t + 0.1*s[3]) }\n return sum(s*s)*t",
    "no iteration": "s = a\n for i in range(n - 5000) { s = s*b }\n for i in range(n) { s = sin(s) + b*0.1 }\n return s",
    "calls of itself": "fn g(y, k) { if k == 0 { return y*b }; return sin(g(y*a, k - 1)) }\n s = a\n for i in range(n) { s = g(s, 2) + 0.3 }\n return s",
    "a gradient": "s = a\n for i in range(n) { s = 0.5*sin(s) + 0.1*grad(fn(y) = sin(y*b)*y)(s) }\n return s",
}  # fmt: skip


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The pullbacks whose loops are in blocks."""
    found: list[Any] = []
    pulled = LinearizedRegion.pulled_in_blocks

    def noted(self: LinearizedRegion, *given: Any) -> Any:
        found.append(self)
        return pulled(self, *given)

    monkeypatch.setattr(LinearizedRegion, "pulled_in_blocks", noted)
    return found


def answer(name: str, asked: str, tier: int, stack_bytes: int) -> list[float]:
    source = (
        f"var x = 0.7\nvar w = 1.2\nfn f(a, b, n) {{\n {FUNCTIONS[name]}\n}}\ny = f(x, w, 900)\n"
    )
    source += f"z = {asked}\noutput z"
    with only(tier, FIRST_USE, stack_bytes):
        found = gradcli.load(source=source).with_options(mode="reverse").run()
    return [found.outputs["z"], *found.gradients["z"].values()]


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_above_the_budget(name: str, tier: int, in_blocks: list[Any]) -> None:
    expected = answer(name, "y*x", tier, STACK_BYTES)
    assert not in_blocks
    found = answer(name, "y*x", tier, FEW)
    assert in_blocks
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_above_the_budget(name: str, tier: int, in_blocks: list[Any]) -> None:
    """Where a kernel gave the gradient and its derivatives, the interpreter sweeps now, which adds
    in another order."""
    expected = answer(name, "grad(f)(x, w, 900)*y", tier, STACK_BYTES)
    found = answer(name, "grad(f)(x, w, 900)*y", tier, FEW)
    assert in_blocks
    np.testing.assert_allclose(found, expected, rtol=1e-12)


LOOP = """
region main(%0: f64, %1: f64, %2: i64) -> (f64) {
  %3 = for %4 in %2 with (%5 = %0) {
    %6 = sin %5 : f64
    %7 = mul %6, %1 : f64
    yield %7
  }
  return %3
}
"""


@pytest.mark.parametrize("ways", ["b", "bb", "bf", "fb", "bbb", "bbf"])
def test_derivatives_in_blocks(ways: str) -> None:
    """Of derivatives, in both modes. A second reverse sweep adds the cotangents of what is computed
    twice in another order; all others have the same bits."""
    whole = RegionCall(*parse(LOOP))
    blocks, numbers = whole.in_blocks, [0.7, 1.2, 1000]
    for way in ways:
        active = tuple([k for k, v in enumerate(whole.region.block.parameters) if v.type == F64])
        of = whole.moving(active)
        if way == "f":
            whole, blocks = whole.forward(active), blocks.forward(active)
        else:
            whole, blocks = whole.backward(active, of), blocks.backward(active, of)
        numbers += [0.5 + 0.25 * k for k in range(len(active if way == "f" else of))]
        verify(blocks.expanded)
        with only(WRITTEN):
            found, expected = blocks.run(numbers), whole.run(numbers)
        np.testing.assert_allclose(found, expected, rtol=1e-10 if "bb" in ways else 0)


def test_the_memory_of_loops_in_blocks() -> None:
    llvm = pytest.importorskip("gradcli.engine.codegen.llvm.functions")
    call, numbers = RegionCall(*parse(LOOP)), [0.7, 1.2, 100_000, 1.0]
    for ways in ("b", "bb"):
        whole, blocks = call, call.in_blocks
        for _ in ways:
            whole, blocks = (each.backward((0,), (0,)) for each in (whole, blocks))
        numbers = [0.7, 1.2, 100_000, *[1.0] * len(ways)]
        kernels = [llvm.compiled(each.expanded[0], each.expanded[1:]) for each in (whole, blocks)]
        found = [kernel(*numbers) for kernel in kernels]
        np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-300)
        with pytest.raises(StepBack):
            kernels[0](*numbers, 2**19)
        assert kernels[1](*numbers, 2**17) == found[1]
