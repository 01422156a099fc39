"""Passes over regions: the text that each gives, and the same results from what it rewrites."""

from __future__ import annotations

from functools import partial

import pytest

from gradcli.engine.codegen.python import StepBack, compiled
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.types import F64
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.dead_code import without_dead_code
from gradcli.engine.passes.folding import fold
from gradcli.engine.passes.hoisting import hoist
from gradcli.engine.passes.jvp import jvp
from gradcli.engine.passes.vjp import vjp

from .region_cases import LOOPS, PROGRAMS, lowered, same, states
from .region_programs import Writer

HEAD = "var x = 1.5\nvar y = -0.75\nvar n = 4\n"
PASSES = {"fold": partial(fold, last=True), "without_dead_code": without_dead_code, "hoist": hoist}

GOLDEN = {
    "a choice that is known": (
        "fold",
        """region f(%0: f64, %1: f64) -> (f64, f64) {
  %2 = const True : bool
  %3 = if %2 {
    yield %0
  } else {
    yield %1
  }
  %4 = where %2, %1, %0 : f64
  return %3, %4
}
""",
        """region f(%0: f64, %1: f64) -> (f64, f64) {
  return %0, %1
}
""",
    ),
    "carried, but never changed": (
        "fold",
        """region f(%0: f64, %1: i64) -> (f64, f64, bool) {
  %2 = const False : bool
  %3, %4, %5 = for %6 in %1 with (%7 = %0, %8 = %0, %9 = %2) {
    %10 = const False : bool
    %11 = mul %7, %8 : f64
    yield %7, %11, %10
  }
  return %3, %4, %5
}
""",
        """region f(%0: f64, %1: i64) -> (f64, f64, bool) {
  %2 = for %3 in %1 with (%4 = %0) {
    %5 = mul %0, %4 : f64
    yield %5
  }
  %6 = const False : bool
  return %0, %2, %6
}
""",
    ),
    "a zero that changes nothing": (
        "fold",
        """region f(%0: f64) -> (f64, f64) {
  %1 = const -0.0 : f64
  %2 = const 0.0 : f64
  %3 = add %0, %1 : f64
  %4 = add %0, %2 : f64
  return %3, %4
}
""",
        """region f(%0: f64) -> (f64, f64) {
  %1 = const 0.0 : f64
  %2 = add %0, %1 : f64
  return %0, %2
}
""",
    ),
    "an int may step back, a float isn't needed": (
        "without_dead_code",
        """region f(%0: f64, %1: i64) -> (f64) {
  %2 = sin %0 : f64
  %3 = add %1, %1 : i64
  return %0
}
""",
        """region f(%0: f64, %1: i64) -> (f64) {
  %2 = add %1, %1 : i64
  return %0
}
""",
    ),
    "carried for itself alone": (
        "without_dead_code",
        """region f(%0: f64, %1: i64) -> (f64) {
  %2, %3, %4 = for %5 in %1 with (%6 = %0, %7 = %0, %8 = %0) {
    %9 = mul %6, %7 : f64
    %10 = sin %7 : f64
    %11 = sin %8 : f64
    yield %9, %10, %11
  }
  return %2
}
""",
        """region f(%0: f64, %1: i64) -> (f64) {
  %2, %3 = for %4 in %1 with (%5 = %0, %6 = %0) {
    %7 = mul %5, %6 : f64
    %8 = sin %6 : f64
    yield %7, %8
  }
  return %2
}
""",
    ),
    "constants, and what each iteration would compute": (
        "hoist",
        """region f(%0: f64, %1: i64) -> (f64) {
  %2 = for %3 in %1 with (%4 = %0) {
    %5 = const 2.0 : f64
    %6 = mul %0, %5 : f64
    %7 = sin %6 : f64
    %8 = add %1, %1 : i64
    %9 = const 2.0 : f64
    %10 = mul %4, %9 : f64
    %11 = add %10, %7 : f64
    yield %11
  }
  return %2
}
""",
        """region f(%0: f64, %1: i64) -> (f64) {
  %2 = const 2.0 : f64
  %3 = mul %0, %2 : f64
  %4 = sin %3 : f64
  %5 = for %6 in %1 with (%7 = %0) {
    %8 = add %1, %1 : i64
    %9 = mul %7, %2 : f64
    %10 = add %9, %4 : f64
    yield %10
  }
  return %5
}
""",
    ),
}


@pytest.mark.parametrize(("name", "before", "after"), GOLDEN.values(), ids=GOLDEN.keys())
def test_texts(name: str, before: str, after: str) -> None:
    [region] = parse(before)
    verify([region])
    assert text([PASSES[name](region)]) == after
    assert text([region]) == before  # passes leave what they are given


def agree(region: Region, values: list[float]) -> None:
    """Every pass, and all together, give what the region gives."""
    verify([region])
    together = without_dead_code(fold(hoist(region), last=True))
    for rewritten in (*[function(region) for function in PASSES.values()], together):
        verify([rewritten])
        results = []
        for each in (region, rewritten):
            try:
                results.append(compiled(each)(*values))
            except StepBack:
                results.append(None)
        wanted, found = results
        assert (wanted is None) == (found is None)
        assert wanted is None or all(map(same, wanted, found))


def compare(source: str) -> None:
    """A program, its gradients and its tangents, by all parameters."""
    found = lowered(source)
    values = states(source, found.parameters)
    block = found.region.block
    wrt = [k for k, value in enumerate(block.parameters) if value.type == F64]
    agree(found.region, values)
    agree(jvp(found.region, wrt), [*values, *[1.0] * len(wrt)])
    agree(vjp(found.region, wrt), [*values, *[1.0 for v in block.results if v.type == F64]])


@pytest.mark.parametrize("source", [*PROGRAMS.values(), *LOOPS.values()], ids=[*PROGRAMS, *LOOPS])
def test_programs(source: str) -> None:
    compare(HEAD + source)


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    source = Writer(seed).program()
    if not lowered(source).reasons:
        compare(source)
