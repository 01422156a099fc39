"""Arrays in IR: who owns their memory, and that both kinds of code keep to it."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.engine.codegen.python import regions as python
from gradcli.engine.codegen.python.regions import StepBack
from gradcli.engine.ir.instructions import Region
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.verifier import verify
from gradcli.engine.passes.arrays.ownership import owned

pytest.importorskip("llvmlite")

from gradcli.engine.codegen.llvm import functions as llvm

A = np.array([1.0, 2.0, 3.0])


def region(body: str) -> Region:
    """A region of an array, a place and a number, with copies of arrays where they are needed."""
    source = f"region f(%0: f64[3], %1: i64, %2: f64) -> (f64[3], f64[3]) {{ {body} }}"
    [found] = owned(*parse(source))
    verify([found])
    return found


# What a region does, how often it copies an array and frees one, and its results for the place 1
# and the number 9.0.
CASES = {
    "the parameter stays as it is": (
        "%3 = put %0, %1, %2\nreturn %3, %0", 2, 0, [1, 9, 3], [1, 2, 3]),
    "one change after another": (
        "%3 = put %0, %1, %2\n%4 = const 0 : i64\n%5 = put %3, %4, %2\nreturn %5, %5", 2, 0, [9, 9, 3], [9, 9, 3]),
    "the old array is read before": (
        "%3 = element %0, %1 : f64\n%4 = put %0, %1, %2\n%5 = const 0 : i64\n%6 = element %4, %5 : f64\n"
        "%7 = put %4, %5, %3\n%8 = put %7, %1, %6\nreturn %8, %0", 2, 0, [2, 1, 3], [1, 2, 3]),
    "the old array is used later": (
        "%3 = new f64[3] of %2\n%4 = const 0.5 : f64\n%5 = put %3, %1, %4\nreturn %3, %5", 1, 0, [9, 9, 9], [9, 0.5, 9]),
    "an array that only its elements are needed of": (
        "%3 = new f64[3] of %2\n%4 = element %3, %1 : f64\n%5 = put %0, %1, %4\nreturn %5, %0", 2, 1, [1, 9, 3], [1, 2, 3]),
    "an array that nobody needs": (
        "%3 = new f64[3] of %2\nreturn %0, %0", 2, 1, [1, 2, 3], [1, 2, 3]),
    "on one side of a branch": (
        "%3 = new f64[3] of %2\n%4 = const 5.0 : f64\n%5 = gt %2, %4 : bool\n"
        "%6 = if %5 { %7 = put %3, %1, %4\nyield %7 } else { yield %0 }\nreturn %6, %0", 2, 1, [9, 5, 9], [1, 2, 3]),
    "carried by a loop": (
        "%3 = for %4 in %1 with (%5 = %0) { %6 = put %5, %4, %2\nyield %6 }\nreturn %3, %0", 2, 0, [9, 2, 3], [1, 2, 3]),
    "carried twice": (
        "%9 = const 3 : i64\n%3, %10 = for %4 in %9 with (%5 = %0, %6 = %0) { %7 = put %5, %4, %2\nyield %6, %7 }\nreturn %3, %10",
        2, 0, [1, 9, 3], [9, 2, 9]),
    "carried and read from outside": (
        "%9 = const 2 : i64\n%8 = new f64[3] of %2\n%3 = for %4 in %9 with (%5 = %8) { %6 = element %8, %4 : f64\n"
        "%7 = add %6, %2 : f64\n%10 = put %5, %4, %7\nyield %10 }\nreturn %3, %3", 2, 1, [18, 18, 9], [18, 18, 9]),
    "made in each iteration": (
        "%9 = const 2 : i64\n%3 = for %4 in %9 with (%5 = %0) { %6 = new f64[3] of %2\n%7 = element %5, %4 : f64\n"
        "%8 = put %6, %1, %7\nyield %8 }\nreturn %3, %0", 2, 1, [9, 1, 9], [1, 2, 3]),
    "in the condition of a loop": (
        "%9 = const 6.0 : f64\n%3 = while (%4 = %0) { %5 = put %4, %1, %2\n%6 = element %5, %1 : f64\n%7 = element %4, %1 : f64\n"
        "%8 = lt %7, %9 : bool\nyield %8 } do (%10) { %11 = put %10, %1, %2\nyield %11 }\nreturn %3, %0", 3, 1, [1, 9, 3], [1, 2, 3]),
}  # fmt: skip


def counted(found: Region, word: str) -> int:
    return sum(
        line.strip().startswith(word) or f"= {word} " in line for line in text([found]).splitlines()
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_arrays_are_copied_where_two_would_share_memory(
    case: tuple[str, int, int, list[float], list[float]],
) -> None:
    body, copies, frees, *expected = case
    found = region(body)
    for code in (python, llvm):
        assert [list(array) for array in code.compiled(found)(A, 1, 9.0)] == expected
        assert list(A) == [1.0, 2.0, 3.0]
    assert (counted(found, "copy"), counted(found, "free")) == (copies, frees)


def test_texts_parse_again() -> None:
    for body, *_ in CASES.values():
        written = text([region(body)])
        assert text(parse(written)) == written


# What an `each` does with an array that nothing reads later, how many new arrays there are with
# that, and the results.
FILLED = {
    "it reads each element where it puts one": (
        "(put %4) { %7 = element %3, %6 : f64\n%8 = add %7, %2 : f64\nyield %8, %6 }", "%5, %5", 1, [18, 9.5, 18]),
    "it reads other elements": (
        "(put %4) { %9 = place 2 (%6: -1)\n%7 = element %3, %9 : f64\n%8 = add %7, %2 : f64\nyield %8, %6 }",
        "%5, %5", 2, [18, 9.5, 18]),
    "it puts the elements elsewhere": (
        "(put %4) { %9 = place 2 (%6: -1)\n%7 = element %3, %6 : f64\n%8 = add %7, %2 : f64\nyield %8, %9 }",
        "%5, %5", 2, [18, 9.5, 18]),
    "it adds numbers up": (
        "(add %4) { %7 = element %3, %6 : f64\nyield %7, %6 }", "%3, %3", 2, [9, 0.5, 9]),
    "something reads the array later": (
        "(put %4) { %7 = element %3, %6 : f64\n%8 = add %7, %2 : f64\nyield %8, %6 }", "%3, %5", 2, [9, 0.5, 9]),
}  # fmt: skip


@pytest.mark.parametrize("case", FILLED.values(), ids=FILLED.keys())
def test_new_memory_is_not_taken_where_other_memory_serves(
    case: tuple[str, str, int, list[float]],
) -> None:
    each, results, arrays, expected = case
    found = region(
        "%10 = new f64[3] of %2\n%11 = const 0.5 : f64\n%3 = put %10, %1, %11\n"
        f"%4 = new f64[3]\n%5 = each (%6: 3) with {each}\nreturn {results}"
    )
    assert counted(found, "new") == arrays
    if "add %4" not in each:  # new memory has no numbers to add to
        for code in (python, llvm):
            assert list(code.compiled(found)(A, 1, 9.0)[0]) == expected


def test_an_element_that_is_another_result_is_not_written_over() -> None:
    found = region(
        "%3 = new f64[3] of %2\n%4 = new f64[3]\n%9 = new f64[3]\n"
        "%5, %10 = each (%6: 3) with (put %4, put %9) { %7 = element %3, %6 : f64\n"
        "%8 = add %7, %2 : f64\nyield %8, %6, %7, %6 }\nreturn %5, %10"
    )
    for code in (python, llvm):
        first, second = code.compiled(found)(A, 1, 9.0)
        assert (list(first), list(second)) == ([18.0] * 3, [9.0] * 3)


LOOP = """
%3 = const 100000 : i64
%4 = for %5 in %3 with (%6 = %0) {
  %7 = new f64[3] of %2
  %8 = element %6, %1 : f64
  %9 = put %7, %1, %8
  yield %9
}
return %4, %4
"""


def test_memory_is_given_back_in_loops() -> None:
    """A limit of bytes that two arrays need, for 100,000 of them."""
    memory = 2 * (16 + 24)
    assert list(llvm.compiled(region(LOOP))(A, 1, 9.0, memory)[0]) == [9.0, 2.0, 9.0]
    with pytest.raises(StepBack):
        llvm.compiled(region(LOOP))(A, 1, 9.0, 16 + 24)


def test_a_kernel_that_steps_back_gives_its_memory_back() -> None:
    """Which nobody sees, but in the memory of the process."""
    body = "%3 = new f64[3] of %2\n%4 = const 5.0 : f64\n%5 = gt %2, %4 : bool\ncheck %5\nreturn %3, %3"
    kernel = llvm.compiled(region(body))
    assert list(kernel(A, 1, 9.0)[0]) == [9.0] * 3
    for _ in range(1000):
        with pytest.raises(StepBack):
            kernel(A, 1, 1.0)


def test_calls_hand_arrays_over() -> None:
    source = """
    region main(%0: f64[3], %1: i64) -> (f64[3], f64[3]) {
      %2 = call f(%0, %1) : (f64[3])
      %3 = call f(%2, %1) : (f64[3])
      return %3, %2
    }
    region f(%0: f64[3], %1: i64) -> (f64[3]) {
      %2 = element %0, %1 : f64
      %3 = add %2, %2 : f64
      %4 = put %0, %1, %3
      return %4
    }
    """
    main, other = owned(*parse(source))
    assert [counted(each, "copy") for each in (main, other)] == [2, 0]  # of `%0`, and of `%2`
    for code in (python, llvm):
        found = code.compiled(main, [other])(A, 2)
        assert [list(array) for array in found] == [[1, 2, 12], [1, 2, 6]]
        assert list(A) == [1.0, 2.0, 3.0]


def test_what_hands_an_array_on_copies_nothing() -> None:
    source = """
    region main(%0: f64[3], %1: i64) -> (f64[3]) {
      %2 = call f(%0, %0, %1) : (f64[3])
      return %2
    }
    region f(%0: f64[3], %1: f64[3], %2: i64) -> (f64[3]) {
      %3 = const 0 : i64
      %4 = gt %2, %3 : bool
      %5 = if %4 {
        %6 = const -1 : i64
        %7 = add %2, %6 : i64
        %8 = element %1, %7 : f64
        %9 = element %0, %2 : f64
        %10 = add %8, %9 : f64
        %11 = put %0, %2, %10
        %12 = call f(%11, %1, %7) : (f64[3])
        yield %12
      } else {
        yield %0
      }
      return %5
    }
    """
    verify(regions := owned(*parse(source)))
    assert [counted(each, "copy") for each in regions] == [1, 0]
    for code in (python, llvm):
        assert list(code.compiled(regions[0], regions[1:])(A, 2)[0]) == [1, 3, 5]
        assert list(A) == [1.0, 2.0, 3.0]


def test_arrays_of_other_layouts() -> None:
    found = region("%3 = put %0, %1, %2\nreturn %3, %0")
    for code in (python, llvm):
        for given in (np.arange(9.0)[::3], np.broadcast_to(np.array(2.0), (3,))):
            assert list(code.compiled(found)(given, 0, 1.0)[1]) == list(given)
