"""Stacks of machine code, its limits, and the signals that stop it."""

from __future__ import annotations

import _thread
import gc
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from types import FunctionType

import pytest

from gradcli.engine.codegen import kernel
from gradcli.engine.codegen.llvm import assembly
from gradcli.engine.codegen.python import regions as python
from gradcli.engine.codegen.python.regions import StepBack
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.verifier import verify

pytest.importorskip("llvmlite")

from gradcli.engine.codegen.llvm.functions import compiled
from gradcli.engine.codegen.scalars import NotNative

CHECKOUT = Path(__file__).parents[3]
LONG = "%1 = const 0 : i64\n%2 = for %3 in %0 with (%4 = %1) {\nyield %3\n}\nreturn %2"
# Adds up n entries that it has pushed: the sum, and how many have an odd number.
SUM = """
  %1 = new stack
  %2 = const 0 : i64
  %3 = const 2 : i64
  %4 = for %5 in %0 with (%6 = %1) {
    %7 = cast %5 : f64
    %8 = mod %5, %3 : i64
    %9 = ne %8, %2 : bool
    %10 = push %6, %9, %7, %5
    %11 = push %10, %9
    yield %11
  }
  %12 = const 0.0 : f64
  %13, %14, %15 = for %16 in %0 with (%17 = %4, %18 = %12, %19 = %2) {
    %20, %21 = pop %17 : (bool)
    %22, %23, %24, %25 = pop %20 : (bool, f64, i64)
    %26 = cast %23 : i64
    %27 = add %26, %19 : i64
    %28 = add %18, %24 : f64
    %29 = cast %25 : f64
    %30 = sub %28, %29 : f64
    %31 = add %30, %24 : f64
    yield %22, %31, %27
  }
  return %14, %15
"""


def region(body: str, results: str = "i64") -> Region:
    [found] = parse(f"region f(%0: i64) -> ({results}) {{\n{body}\n}}\n")
    verify([found])
    return found


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 100_000])
def test_a_stack_gives_back_what_it_was_given(n: int) -> None:
    summed = region(SUM, "f64, i64")
    assert compiled(summed)(n) == python.compiled(summed)(n) == (n * (n - 1) / 2, n // 2)


def test_an_entry_may_be_larger_than_the_first_memory_of_a_stack() -> None:
    pushed = ", ".join(["%0"] * 600)
    popped = ", ".join([f"%{k}" for k in range(4, 603)])
    types = ", ".join(["i64"] * 600)
    body = f"%1 = new stack\n%2 = push %1, {pushed}\n%3, {popped}, %9999 = pop %2 : ({types})"
    assert compiled(region(f"{body}\nreturn %9999"))(17) == (17,)


def test_a_stack_that_is_made_in_a_loop_begins_empty() -> None:
    body = """
    %1 = const 0 : i64
    %2 = for %3 in %0 with (%4 = %1) {
      %5 = new stack
      %6 = push %5, %3
      %7 = push %6, %3
      %8, %9 = pop %7 : (i64)
      %10 = add %4, %9 : i64
      yield %10
    }
    return %2"""
    assert compiled(region(body))(10_000, 4096) == (49_995_000,)


def test_stacks_that_change_places_have_no_machine_code() -> None:
    body = """
    %1 = new stack
    %2 = new stack
    %3, %4 = for %5 in %0 with (%6 = %1, %7 = %2) {
      yield %7, %6
    }
    return %0"""
    with pytest.raises(NotNative, match="change places"):
        compiled(region(body))


def test_memory_is_limited() -> None:
    summed = compiled(region(SUM, "f64, i64"))
    needed = 18 * 1000  # bytes
    assert summed(1000, 4 * needed)
    with pytest.raises(StepBack):
        summed(1000, needed - 1)


def test_memory_is_given_back() -> None:
    summed = compiled(region(SUM, "f64, i64"))
    tracemalloc.start()
    try:
        summed(10)
        before, _ = tracemalloc.get_traced_memory()
        summed(10_000, 10**6)
        with pytest.raises(StepBack):
            summed(10**9, 10**6)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak > before + 180_000
    assert after < before + 10_000


def test_arguments_that_do_not_fit_are_refused() -> None:
    same = compiled(region("return %0"))
    assert same(-1) == (-1,)
    for wrong in [(), (1, 2, 3), ("a",), (1.5,), (1, "a")]:
        with pytest.raises(TypeError):
            same(*wrong)
    with pytest.raises(OverflowError):
        same(2**63)


def test_a_kernel_lives_as_long_as_its_function() -> None:
    functions = [compiled(region(f"%1 = const {k} : i64\nreturn %1")) for k in range(5)]
    again = compiled(region("%1 = const 2 : i64\nreturn %1"))
    del functions[1:4]
    gc.collect()
    assert [f(0) for f in [*functions, again]] == [(0,), (4,), (2,)]


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert compiled(region(SUM, "f64, i64"))(1000, 2**20)[1] == 500


# Calls itself without end, with more than the C stack holds, with memory on a stack in each call.
CALLS = """
region f(%0: i64) -> (i64) {
  %1 = call g(%0) : (i64)
  return %1
}
region g(%0: i64) -> (i64) {
  %1 = const 1 : i64
  %2 = sub %0, %1 : i64
  %3 = const 0 : i64
  %4 = eq %0, %3 : bool
  %5 = new stack
  %6 = push %5, %0
  %7 = if %4 {
    yield %3
  } else {
    %8 = call g(%2) : (i64)
    %9 = add %8, %1 : i64
    yield %9
  }
  %10, %11 = pop %6 : (i64)
  return %7
}
"""


def test_regions_that_call_each_other_have_limits_in_common() -> None:
    called = parse(CALLS)
    verify(called)
    function = compiled(called[0], called[1:])
    assert function(100) == (100,)
    assert function(100, 101 * 4096) == (100,)
    with pytest.raises(StepBack):
        function(100, 100 * 4096)
    with pytest.raises(StepBack):
        function(-1)  # the C stack is full
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with pytest.raises(StepBack):
            function(-1)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000 < peak - before


def test_a_region_gives_back_to_the_limit_what_its_stack_took() -> None:
    called = parse(CALLS)
    called[0] = parse(
        "region f(%0: i64) -> (i64) {\n%1 = for %2 in %0 with (%3 = %0) {\n"
        "%4 = call g(%2) : (i64)\nyield %4\n}\nreturn %1\n}\n" + CALLS.split("}\n", 1)[1]
    )[0]
    assert compiled(called[0], called[1:])(10, 11 * 4096) == (9,)


def test_ctrl_c_ends_a_loop() -> None:
    """The other thread can send it, too: the kernel lets it run."""
    waiting, timer = compiled(region(LONG)), Timer(0.02, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        waiting(2**35)  # about a minute
    timer.join()


def test_a_kernel_runs_in_several_threads_at_once() -> None:
    """It lets others run at each poll, of which there are some."""
    summed, n = compiled(region(SUM, "f64, i64")), 400_000
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(summed, [n] * 8))
    assert found == [(n * (n - 1) / 2, n // 2)] * 8


PROGRAM = """
import resource, sys
from gradcli.engine.codegen import kernel
from gradcli.engine.codegen.python import regions as python
from gradcli.engine.ir.parser import parse

[region] = parse(sys.stdin.read())
python.compiled(region)(1)  # with what that imports
with open("/proc/self/status") as lines:
    taken = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
resource.setrlimit(resource.RLIMIT_DATA, (taken + int(sys.argv[1]),) * 2)
print(kernel._machine_code(region, (), 20, 2**20)(10), "llvmlite" in sys.modules)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is no such limit")
@pytest.mark.parametrize("size", [2**19, 2**22, 2**23, 2**24, 2**28])
def test_where_llvm_finds_no_memory_there_is_no_machine_code(size: int) -> None:
    """It would end the process."""
    command = [sys.executable, "-c", PROGRAM, str(size)]
    source = text([region(SUM, "f64, i64")])
    done = subprocess.run(
        command, input=source, capture_output=True, text=True, check=False, cwd=CHECKOUT
    )
    assert done.stderr == ""
    assert done.stdout == f"(45.0, 5) {size == 2**28}\n"


def test_without_llvmlite_a_region_stays_python_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly._is_there.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    function = kernel._machine_code(region(SUM, "f64, i64"), (), 20, 2**20)
    assembly._is_there.cache_clear()
    assert type(function) is FunctionType
    assert function(10) == (45.0, 5)
