"""Calls in reverse mode: the two parts of a region that is called, and the memory they take."""

from __future__ import annotations

import pytest

from gradcli.engine.codegen.python import regions as python
from gradcli.engine.codegen.python.regions import StepBack
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.calls import Regions
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.expansion import expand
from gradcli.engine.passes.folding import fold

REGIONS = """
region main(%0: f64, %1: i64) -> (f64) {
  %2 = call f(%0, %1) : (f64)
  return %2
}
region f(%0: f64, %1: i64) -> (f64) {
  %2 = const 0 : i64
  %3 = eq %1, %2 : bool
  %4 = if %3 {
    yield %0
  } else {
    %5 = const -1 : i64
    %6 = add %1, %5 : i64
    %7 = call f(%0, %6) : (f64)
    %8 = mul %7, %0 : f64
    yield %8
  }
  return %4
}
"""
PARTS = """\
region 0__0___keep_f(%0: f64, %1: i64, %2: stack) -> (f64, stack) {
  %3 = const 0 : i64
  %4 = eq %1, %3 : bool
  %5, %6, %7 = if %4 {
    %8 = const 0.0 : f64
    yield %0, %2, %8
  } else {
    %9 = const -1 : i64
    %10 = add %1, %9 : i64
    %11, %12 = call 0__0___keep_f(%0, %10, %2) : (f64, stack)
    %13 = mul %11, %0 : f64
    yield %13, %12, %11
  }
  %14 = push %6, %4, %0, %7
  return %5, %14
}
region 0__0___back_f(%0: stack, %1: f64) -> (stack, f64, bool) {
  %2, %3, %4, %5 = pop %0 : (bool, f64, f64)
  %6, %7 = if %3 {
    yield %1, %2
  } else {
    %8 = cotangent of mul %1, %4 : f64
    %9 = cotangent of mul %1, %5 : f64
    %10, %11, %12 = call 0__0___back_f(%2, %8) : (stack, f64, bool)
    %13 = add %9, %11 : f64
    yield %13, %10
  }
  %14 = const True : bool
  return %7, %6, %14
}
"""


def pullback() -> list[Region]:
    main, other = parse(REGIONS)
    regions = Regions([other])
    region = vjp(main, [0], regions)
    found = [region, *regions.called_by(region)]
    verify(found)
    return found


def test_a_region_that_is_called_is_divided() -> None:
    _, *parts = pullback()
    assert text(parts) == PARTS


def test_what_is_kept_counts_as_memory() -> None:
    llvm = pytest.importorskip("gradcli.engine.codegen.llvm.functions")
    main, *others = [without_dead_code(fold(expand(each), last=True)) for each in pullback()]
    function = llvm.compiled(main, others)
    for compiled in (function, python.compiled(main, others)):
        assert compiled(1.5, 5, 1.0) == (1.5**6, 6 * 1.5**5, True)
    room = 4096 * 8
    assert function(1.0, 1000, 1.0, room) == (1.0, 1001.0, True)
    for _ in range(100):
        with pytest.raises(StepBack):
            function(1.0, 1000, 1.0, 4096)
        with pytest.raises(StepBack):
            function(1.0, -1, 1.0)  # the C stack is full
    assert function(1.0, 1000, 1.0, room) == (1.0, 1001.0, True)
