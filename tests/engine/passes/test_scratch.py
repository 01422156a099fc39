"""Scratch memory: which arrays of a kernel are there, and that calls don't share what they give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gradcli.engine.codegen.python import regions as python
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse
from gradcli.engine.passes.arrays.ownership import owned

pytest.importorskip("llvmlite")

from gradcli.engine.codegen.llvm import functions as llvm
from gradcli.engine.codegen.llvm.scratch import NO_SCRATCH, scratch_of

N = 20_000  # elements: 160,000 bytes
X = np.linspace(-1.0, 1.0, N)


def region(body: str) -> Region:
    """A region of an array and a number, in which arrays that nobody needs are freed."""
    head = f"region f(%0: f64[{N}], %1: f64) -> (f64[{N}], f64) {{"
    [found] = owned(*parse(f"{head}\n{body}}}\n"))
    return found


def scaled(result: int, array: int, size: int = N) -> str:
    """The first elements of an array, times the number."""
    k = 100 * result
    return (
        f"%{k} = new f64[{size}]\n%{result} = each (%{k + 1}: {size}) with (put %{k}) {{\n"
        f"%{k + 2} = element %{array}, %{k + 1} : f64\n%{k + 3} = mul %{k + 2}, %1 : f64\n"
        f"yield %{k + 3}, %{k + 1}\n}}\n"
    )


def total(result: int, array: int, size: int = N) -> str:
    """The sum of the first elements of an array."""
    k = 100 * result
    return (
        f"%{k} = const 0.0 : f64\n%{result} = each (%{k + 1}: {size}) with (add %{k}) {{\n"
        f"%{k + 2} = element %{array}, %{k + 1} : f64\nyield %{k + 2}\n}}\n"
    )


LOOP = (
    "%9 = const 3 : i64\n%8 = for %90 in %9 with (%91 = {0}) {{\n%92 = const 0 : i64\n"
    "%93 = element %91, %92 : f64\n%94 = add %93, %1 : f64\n%95 = put %91, %92, %94\nyield %95\n}}\n"
)
# What a region does, and how many arrays are in its scratch memory, in how many bytes.
CASES = {
    "what it gives": (scaled(2, 0) + total(3, 2) + "return %2, %3", 0, 0),
    "what is read until the end": (scaled(2, 0) + scaled(3, 2) + total(4, 2) + "return %3, %4", 1, 160_000),
    "two at once": (
        scaled(2, 0) + scaled(3, 0) + scaled(4, 2) + total(5, 3) + total(6, 2)
        + "%7 = add %5, %6 : f64\nreturn %4, %7", 2, 320_000),
    "one after the other": (
        scaled(2, 0) + total(3, 2) + scaled(4, 0) + total(5, 4)
        + "%7 = add %5, %3 : f64\nreturn %0, %7", 2, 160_000),
    "a small one": (scaled(2, 0, 1000) + total(3, 2, 1000) + "return %0, %3", 0, 0),
    "what a loop changes": (scaled(2, 0) + LOOP.format("%2") + total(3, 8) + "return %0, %3", 0, 0),
    "what a branch gives": (
        scaled(2, 0) + scaled(3, 0) + "%4 = const 0.5 : f64\n%5 = gt %1, %4 : bool\n"
        "%6 = if %5 {\nyield %2\n} else {\nyield %3\n}\n" + total(7, 6) + "return %0, %7", 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_which_arrays_are_there(name: str) -> None:
    body, arrays, size = CASES[name]
    found = scratch_of(region(body + "\n").block)
    assert (len(found.places), found.size) == (arrays, size)


@pytest.mark.parametrize("name", CASES)
def test_calls_give_the_same_as_without(name: str) -> None:
    made = region(CASES[name][0] + "\n")
    kernel, oracle = llvm.compiled(made), python.compiled(made)
    answers = [(kernel(X, a), oracle(X, a)) for a in (0.25, 3.0, 0.75)]
    for (array, number), (wanted, sum_of) in answers:  # none has changed since
        assert number == sum_of
        assert np.array_equal(array, wanted)


def test_threads_have_memory_of_their_own() -> None:
    made = region(CASES["two at once"][0] + "\n")
    kernel, oracle = llvm.compiled(made), python.compiled(made)
    numbers = [k / 7 for k in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda a: kernel(X, a), numbers))
    for (array, number), a in zip(found, numbers, strict=True):
        wanted = oracle(X, a)
        assert number == wanted[1]
        assert np.array_equal(array, wanted[0])


def test_much_memory_is_not_kept() -> None:
    size = 2**23 + 1  # elements, of more bytes than are kept
    source = f"region f(%0: f64[{size}], %1: f64) -> (f64) {{\n"
    [found] = owned(*parse(source + scaled(2, 0, size) + total(3, 2, size) + "return %3\n}\n"))
    assert scratch_of(found.block) is NO_SCRATCH
