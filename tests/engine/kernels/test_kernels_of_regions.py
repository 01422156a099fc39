"""Kernels: the tier in which a region runs follows from the work that it has done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcli.engine.backends.tiers import FIRST_USE, HEAT, WRITTEN, Heat, only
from gradcli.engine.codegen import kernel
from gradcli.engine.codegen.kernel import Kernel
from gradcli.engine.codegen.llvm import functions as llvm
from gradcli.engine.codegen.scalars import NotNative
from gradcli.engine.ir.instructions import size_of
from gradcli.engine.ir.parser import parse
from gradcli.engine.kernels.region_calls import ALL_PASSES, cost_of
from gradcli.engine.passes.calls import Regions

LOOP = """region f(%0: i64, %1: f64) -> (f64) {
  %2 = for %3 in %0 with (%4 = %1) {
    %5 = sin %4 : f64
    %6 = mul %5, %1 : f64
    yield %6
  }
  return %2
}
"""
TREE = """region f(%0: i64, %1: f64) -> (f64) {
  %2 = call tree(%0, %1) : (f64)
  return %2
}

region tree(%0: i64, %1: f64) -> (f64) {
  %2 = const 0 : i64
  %3 = le %0, %2 : bool
  %4 = if %3 {
    yield %1
  } else {
    %5 = const 1 : i64
    %6 = sub %0, %5 : i64
    %7 = call tree(%6, %1) : (f64)
    %8 = call tree(%6, %7) : (f64)
    %9 = sin %8 : f64
    yield %9
  }
  return %4
}
"""
SIZE = 3  # instructions of an iteration
SOON = HEAT._replace(instructions=100 * SIZE, instructions_each=0, instructions_first=0)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The back ends that were asked for code, in order."""
    found: list[str] = []

    def noting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def made(*regions: Any, **options: Any) -> Any:
            found.append(name)
            return original(*regions, **options)

        return made

    monkeypatch.setattr(kernel.python, "compiled", noting("python", kernel.python.compiled))
    monkeypatch.setattr(llvm, "compiled", noting("llvm", llvm.compiled))
    return found


EACH = """region f(%0: f64[40]) -> (f64[40]) {
  %1 = new f64[40]
  %2 = each (%3: 40) with (put %1) {
    %4 = element %0, %3 : f64
    %5 = sin %4 : f64
    yield %5, %3
  }
  return %2
}
"""


def made() -> Kernel:
    [region] = parse(LOOP)
    return Kernel(region)


def test_machine_code_follows_the_work(compiled: list[str]) -> None:
    with only(heat=SOON):
        loop = made()
        results = [loop.run((40, 0.7)) for _ in range(4)]
    assert len(set(map(tuple, results))) == 1
    assert compiled == ["python", "llvm"]


def test_a_long_run_is_machine_code_at_once(compiled: list[str]) -> None:
    with only(heat=SOON):
        found = made().run((1000, 0.7))
    with only(WRITTEN):
        assert tuple(found) == tuple(made().run((1000, 0.7)))
    assert compiled == ["python", "llvm", "python"]


def test_loading_llvm_has_to_pay_as_well(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with only(heat=SOON._replace(instructions_first=10_000 * SIZE)):
        for is_loaded in (False, True):
            monkeypatch.setattr(kernel, "is_loaded", lambda known=is_loaded: known)
            made().run((1000, 0.7))
    assert compiled == ["python", "python", "llvm"]


def test_an_each_is_machine_code_from_the_first_call_on(compiled: list[str]) -> None:
    numbers = np.linspace(0.0, 1.0, 40)
    [region] = parse(EACH)
    [found] = Kernel(region).run((numbers,))
    assert compiled == ["llvm"]
    np.testing.assert_allclose(found, np.sin(numbers), rtol=1e-15)


def test_an_each_asks_for_more_work_before_it_is_compiled() -> None:
    costs = []
    for text in (LOOP, EACH):
        [region] = parse(text)
        costs.append(cost_of(region, Regions()) // size_of(region.block))
    assert costs[1] == ALL_PASSES * costs[0]


def test_a_deep_recursion_is_machine_code_in_its_first_call(compiled: list[str]) -> None:
    """It has no loop: calls are work, too."""
    regions = parse(TREE)
    with only(heat=SOON):
        found = Kernel(*regions).run((12, 0.7))
    assert compiled == ["python", "llvm"]
    with only(WRITTEN):
        assert tuple(found) == tuple(Kernel(*regions).run((12, 0.7)))


def test_a_run_is_machine_code_at_once_if_many_like_it_are_to_come(compiled: list[str]) -> None:
    with only(heat=SOON):
        few, many = made(), made()
        first = few.run((20, 0.7), 2)
        assert compiled == ["python"]
        assert tuple(many.run((20, 0.7), 50)) == tuple(first)
    assert compiled == ["python", "python", "llvm"]


@pytest.mark.parametrize("heat", [SOON, FIRST_USE], ids=["soon", "at once"])
def test_the_tier_limits_it(heat: Heat, compiled: list[str]) -> None:
    with only(WRITTEN, heat):
        loop = made()
        for _ in range(4):
            loop.run((1000, 0.7))
    assert compiled == ["python"]


@pytest.mark.parametrize("why", ["no machine code", "no room"])
def test_python_text_stays_where_there_is_no_machine_code(
    why: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: Any) -> Any:
        raise NotNative(why)

    if why == "no room":
        monkeypatch.setattr(kernel, "can_compile", lambda size: False)
    else:
        monkeypatch.setattr(llvm, "compiled", refuse)
    with only(heat=SOON):
        loop = made()
        first = loop.run((20, 0.7))
        loop.run((1000, 0.7))
        assert tuple(loop.run((20, 0.7))) == tuple(first)
    assert compiled == ["python", "python"]
