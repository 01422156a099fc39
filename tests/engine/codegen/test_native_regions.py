"""Regions as machine code against the same regions as Python text: the same bits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from gradcli.engine.codegen.python import regions as python
from gradcli.engine.codegen.python.regions import StepBack
from gradcli.engine.ir.builder import Builder
from gradcli.engine.ir.instructions import Block, Region, Value
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.types import BOOL, F64, I64, Scalar
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.derivatives.vjp import vjp
from gradcli.engine.passes.expansion import expand
from gradcli.engine.passes.rules import NoRule

from ..lowering import array_programs
from ..lowering.region_cases import (
    HEAD,
    LOOPS,
    PROGRAMS,
    RECURSIVE,
    STEPS_BACK,
    lowered,
    same,
    states,
)
from ..lowering.region_ops import HARD, KEEP, SCALAR_OPS, operation, points_of
from ..lowering.region_programs import RecursiveWriter, Writer

pytest.importorskip("llvmlite")

from gradcli.engine.codegen.llvm import assembly
from gradcli.engine.codegen.llvm import functions as llvm
from gradcli.engine.codegen.llvm.kernels import kernel_text
from gradcli.engine.codegen.llvm.work import STRETCH, counted_at


def answer(function: Callable[..., tuple[Any, ...]], values: list[Any]) -> Any:
    """The results of a function, or StepBack."""
    try:
        return function(*values)
    except StepBack:
        return StepBack


def agree(region: Region, points: list[list[Any]], others: Sequence[Region] = ()) -> None:
    oracle, native = python.compiled(region, others), llvm.compiled(region, others)
    for values in points:
        wanted, found = answer(oracle, values), answer(native, values)
        if wanted is StepBack or found is StepBack:
            assert found is wanted, (region.name, values, wanted, found)
        else:
            both = zip(found, wanted, strict=True)
            assert all(same(a, b) for a, b in both), (region.name, values, wanted, found)


def compare(source: str, values: dict[Scalar, Callable[[Random], Any]]) -> None:
    """A program has machine code, which agrees with its text where it is declared and at 20 points
    of these values. So does its pullback, where there is one."""
    found, random = lowered(source), Random(source)
    kinds, regions = [value.type for value in found.region.block.parameters], [found.region]
    with suppress(NoRule):
        wrt = [k for k, kind in enumerate(kinds) if kind is F64]
        regions.append(expand(vjp(found.region, wrt)))
    for region in regions:
        kinds = [value.type for value in region.block.parameters]
        declared = states(source, found.parameters)
        declared += [1.0] * (len(kinds) - len(declared))
        drawn = [[values[kind](random) for kind in kinds] for _ in range(20)]  # type: ignore[index]
        agree(region, [declared, *drawn], found.others)


def small_int(random: Random) -> int:
    return random.randint(-5, 9)


# With a float that isn't positive, the loop of one of them would not end.
USUAL = {F64: lambda random: random.uniform(0.1, 9.0), I64: small_int}
UNUSUAL = {F64: lambda random: random.choice(HARD[F64]), I64: small_int}


@pytest.mark.parametrize("source", [*PROGRAMS.values(), *STEPS_BACK])
def test_programs(source: str) -> None:
    compare(HEAD + source, USUAL)


@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS.keys())
def test_pullbacks_of_loops(source: str) -> None:
    compare("var x = 1.5\nvar y = -0.75\nvar n = 4\n" + source, USUAL)


@pytest.mark.parametrize("source", RECURSIVE.values(), ids=RECURSIVE.keys())
def test_functions_that_call_themselves(source: str) -> None:
    compare(HEAD + source, USUAL)


@pytest.mark.parametrize("seed", range(60))
def test_random_functions_that_call_themselves(seed: int) -> None:
    compare(RecursiveWriter(seed).program(), UNUSUAL)


@pytest.mark.parametrize("source", array_programs.PROGRAMS.values())
def test_programs_on_arrays(source: str) -> None:
    compare(array_programs.HEAD + source, USUAL)


@pytest.mark.parametrize("seed", range(20))
def test_texts_too_long_for_llvm_to_optimise(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_OPTIMISED", 0)
    for writer in (Writer, RecursiveWriter):
        compare(writer(seed).program(), UNUSUAL)


@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed: int) -> None:
    """Also of what of a program is a region."""
    compare(Writer(seed).program(), UNUSUAL)


# Those that Python or SciPy computes by code of their own, which may be slow.
IN_PYTHON = [name for name in SCALAR_OPS if kernel_text(operation(name, F64)).called]


@pytest.mark.parametrize("name", [name for name in SCALAR_OPS if name not in IN_PYTHON])
def test_every_op_on_floats(name: str) -> None:
    region = operation(name, F64)
    agree(region, points_of(region))


@pytest.mark.parametrize("name", IN_PYTHON)
def test_ops_that_python_computes(name: str) -> None:
    region, random = operation(name, F64), Random(name)
    n = len(region.block.parameters)
    points = [[random.uniform(0.05, 5.0) for _ in range(n)] for _ in range(25)]
    with np.errstate(all="ignore"):
        agree(region, [*points, [0.0] * n, [1.0] * n, [2.0] * n])


def test_what_python_raises_ends_a_kernel() -> None:
    region = operation("polygamma", F64)
    with pytest.raises(ValueError, match="NaN"):
        llvm.compiled(region)(math.nan, 1.0)


@pytest.mark.parametrize("name", [name for name in KEEP if name != "pow"])
@pytest.mark.parametrize("kind", [I64, BOOL], ids=str)
def test_every_op_on_ints_and_bools(name: str, kind: Scalar) -> None:
    region = operation(name, kind)
    agree(region, points_of(region))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 13, 62, 63, 64, 10**12])
def test_powers_of_ints(exponent: int) -> None:
    base = Value(I64)
    block = Block((base,))
    builder = Builder(block)
    block.results = (builder.apply("pow", [base, builder.constant(exponent)]),)
    region = Region("power", block)
    agree(region, [*points_of(region), *([n] for n in range(-200, 200))])


def test_bools_beside_numbers_in_parameters_and_results() -> None:
    [region] = parse(
        "region mixed(%0: bool, %1: i64, %2: bool, %3: f64) -> (bool, i64, bool, f64) {\n"
        "  return %2, %1, %0, %3\n}\n"
    )
    agree(region, [list(p) for p in product([False, True], [3, -1], [False, True], [0.5, -0.0])])


APART = """region f(%0: f64[40], %1: f64[40], %2: f64) -> (f64[40], f64[40]) {
  %3 = new f64[40]
  %4 = each (%5: 40) with (put %3) {
    %6 = element %0, %5 : f64
    %7 = sub %6, %2 : f64
    yield %7, %5
  }
  %8 = new f64[40]
  %9 = each (%10: 40) with (put %8) {
    %11 = element OTHER, %10 : f64
    %12 = sub LEFT, RIGHT : f64
    yield %12, %10
  }
  return %4, %9
}
"""


@pytest.mark.parametrize(
    ("other", "left", "right", "functions"),
    [
        ("%0", "%11", "%2", 1),
        ("%1", "%11", "%2", 1),
        ("%4", "%11", "%2", 1),
        ("%1", "%2", "%11", 2),
        ("%1", "%11", "%11", 2),
    ],
)
def test_each_that_compute_the_same_share_a_function(
    other: str, left: str, right: str, functions: int
) -> None:
    [region] = parse(APART.replace("OTHER", other).replace("LEFT", left).replace("RIGHT", right))
    text = kernel_text(region).each_text
    assert len(set(re.findall(r'define .*@"(each_\w+)"', text))) == functions
    x, y = np.linspace(0.0, 1.0, 40), np.linspace(3.0, 5.0, 40)
    first, second = llvm.compiled(region)(x, y, 0.5)
    np.testing.assert_array_equal(first, x - 0.5)
    values = {"%0": x, "%1": y, "%2": 0.5, "%4": first}
    values["%11"] = values[other]
    np.testing.assert_array_equal(second, values[left] - values[right])


def test_work_on_arrays_is_counted_for_a_stretch_at_once() -> None:
    [region] = parse(APART.replace("OTHER", "%1").replace("LEFT", "%11").replace("RIGHT", "%2"))
    instructions = region.block.instructions  # of two `each`, for 40 points, of 3 instructions
    assert counted_at(instructions, 1000) == {1: 240}
    assert counted_at(instructions, 200) == {1: 120, 3: 120}
    assert counted_at(instructions, 100) == {1: 120, 3: 120}


def test_long_straight_code_is_counted_in_stretches() -> None:
    """So that no basic block is long: LLVM takes time by the square of its length."""
    n = 5 * STRETCH
    sums = "\n".join(f"  %{k} = add %{k - 1}, %0 : f64" for k in range(1, n))
    [region] = parse(f"region main(%0: f64) -> (f64) {{\n{sums}\n  return %{n - 1}\n}}")
    assert counted_at(region.block.instructions, 1000) == dict.fromkeys(
        range(STRETCH, n - 1, STRETCH), STRETCH
    )
    blocks = kernel_text(region).text.split("\n\n")
    longest = max(block.count("= fadd") for part in blocks for block in re.split(r"\n\S+:\n", part))
    assert STRETCH / 2 < longest <= STRETCH
    assert llvm.compiled(region)(1.0) == (float(n),)


# Changes an array, and puts what was in it into another one.
BEFORE = """
region main(%0: f64[4], %1: f64) -> (f64[4], KIND) {
  %2 = copy %0
  %3 = new KIND of %1
  %4, %5 = each (%6: 4) with (put %2, WAY %3) {
    %7 = element %2, %6 : f64
    %8 = sub %7, %1 : f64
    yield %8, %6, FOUND
  }
  return %4, %5
}
"""


@pytest.mark.parametrize("found", ["%7", "%9"])
@pytest.mark.parametrize(("way", "kind"), [("put", "f64[4]"), ("add", "f64[4]"), ("add", "f64")])
def test_what_was_in_an_array_is_read_before_it_changes(way: str, kind: str, found: str) -> None:
    text = BEFORE.replace("KIND", kind).replace("WAY", way)
    text = text.replace("FOUND", found if kind == "f64" else f"{found}, %6")
    if kind == "f64":
        text = text.replace("  %3 = new f64 of %1\n", "").replace("add %3", "add %1")
    if found == "%9":
        text = text.replace("    %8", "    %9 = beside %7, %1 : f64\n    %8")
    [region] = parse(text)
    for compiled in (python.compiled, llvm.compiled):
        changed, kept = compiled(region)(np.arange(1.0, 5.0), 1.0)
        assert changed.tolist() == [0.0, 1.0, 2.0, 3.0]
        numbers = {"put": [1.0, 2.0, 3.0, 4.0], "add": [2.0, 3.0, 4.0, 5.0]}[way]
        assert np.asarray(kept).tolist() == (11.0 if kind == "f64" else numbers)


# Combines numbers along the last axis, row by row and all together, and puts them.
SHORT = """
region main(%0: KIND[4, SIZE], %1: KIND[9, SIZE]) -> (KIND[4, 9], KINDPUT) {
  %2 = const ZERO : KIND
  %3 = new KIND[4, 9] of %2
  %4, %5 = each (%6: 4, %7: 9, %8: SIZE) with (WAY %3, FIRST) {
    %9 = place 0 (%6: SIZE, %8: 1)
    %10 = element %0, %9 : KIND
    %11 = place 0 (%7: SIZE, %8: 1)
    %12 = element %1, %11 : KIND
    %13 = sub %10, %12 : KIND
    %14 = place 0 (%6: 9, %7: 1)
    %15 = place 0 (%6: LARGE, %7: SIZE, %8: 1)
    yield %13, %14, %13END
  }
  return %4, %5
}
"""


@pytest.mark.parametrize("kind", ["f64", "f32", "i64"])
@pytest.mark.parametrize("way", ["add", "maximum", "minimum"])
@pytest.mark.parametrize("puts", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 15, 16, 17])
def test_a_last_axis_may_be_short(kind: str, way: str, puts: bool, size: int) -> None:
    """Numbers are combined in the same order, however many points it has."""
    names = {"KIND": kind, "WAY": way, "ZERO": "0" if kind == "i64" else "0.0", "SIZE": str(size)}
    put = {"PUT": f"[4, 9, {size}]", "FIRST": "put %16", "END": ", %15", "LARGE": str(9 * size)}
    names |= put if puts else {"PUT": "", "FIRST": f"{way} %2", "END": ""}
    source = SHORT.replace("  %4, %5", f"  %16 = new {kind}[4, 9, {size}]\n  %4, %5")
    if not puts:
        source = re.sub(r"  %1[56] = .*\n", "", source)
    for name, given in names.items():
        source = source.replace(name, given)
    [region] = parse(source)
    verify([region])
    random = np.random.default_rng(size)
    x, y = (random.normal(size=(n, size)) * 1e3 for n in (4, 9))
    dtype = {"f64": float, "f32": np.float32, "i64": int}[kind]
    given = x.astype(dtype), y.astype(dtype)
    pairs = zip(llvm.compiled(region)(*given), python.compiled(region)(*given), strict=True)
    for found, wanted in pairs:
        np.testing.assert_array_equal(found, wanted)
