"""The text of the intermediate representation, and what its verifier finds."""

from __future__ import annotations

import re

import pytest

from gradcli.engine.ir.builder import Builder
from gradcli.engine.ir.instructions import Block, Product, Structural, Value
from gradcli.engine.ir.parser import parse
from gradcli.engine.ir.printer import text
from gradcli.engine.ir.tokens import IRError
from gradcli.engine.ir.types import F64, ArrayType
from gradcli.engine.ir.verifier import verify
from gradcli.ops import OPS

LOOP = """\
region f(%0: f64, %1: i64) -> (f64, i64) {
  %2 = const 0.0 : f64
  %3, %4 = while (%5 = %0, %6 = %1) {
    %7 = gt %5, %2 : bool
    yield %7
  } do (%8, %9) {
    %10 = cast %9 : f64
    %11 = sub %8, %10 : f64
    yield %11, %9
  }
  %12 = gt %3, %2 : bool
  %13 = if %12 {
    yield %3
  } else {
    %14 = const -inf : f64
    yield %14
  }
  %15 = new stack
  %16, %17 = for %18 in %1 with (%19 = %13, %20 = %15) {
    %21 = push %20, %19, %18
    %22 = sin %19 : f64
    yield %22, %21
  }
  %23, %24, %25 = pop %17 : (f64, i64)
  %26 = eq %25, %4 : bool
  check %26
  %27 = call g(%24) : (f64)
  return %27, %25
}
region g(%0: f64) -> (f64) {
  %1 = const True : bool
  %2 = where %1, %0, %0 : f64
  return %2
}
"""


def test_text_parses_to_itself() -> None:
    regions = parse(LOOP)
    verify(regions)
    assert text(regions) == LOOP


def test_a_list_is_told_from_an_array() -> None:
    source = """\
region f(%0: list f64[2, 3], %1: f64[2, 3]) -> (f64) {
  %2 = const 0 : i64
  %3 = element %0, %2 : f64
  return %3
}
"""
    regions = parse(source)
    assert text(regions) == source
    a, b = [value.type for value in regions[0].block.parameters]
    assert a != b


def test_ops_on_whole_arrays_take_a_list_as_an_array() -> None:
    given, array = ArrayType(F64, (2, 2), listed=True), ArrayType(F64, (2, 2))
    builder = Builder(Block((Value(given), Value(array))))
    a, b = builder.block.parameters
    builder.product(a, b, (1, 2, 2, 2))
    builder.structural(OPS["sort"], [a], {})
    taken = [
        value.type
        for made in builder.block.instructions
        if isinstance(made, Product | Structural)
        for value in made.operands
    ]
    assert taken == [array] * 3


def test_comments_and_places_are_passed_over() -> None:
    source = (
        "; a comment\nregion f(%0: f64) -> (f64) {\n  %1 = sin %0 : f64 @ 3:5\n  return %1\n}\n"
    )
    assert "sin %0" in text(parse(source))


def one(body: str, parameters: str = "%0: f64, %1: i64, %2: bool", results: str = "f64") -> str:
    return f"region f({parameters}) -> ({results}) {{\n{body}\n}}\n"


UNREADABLE = {
    "return %9": "%9 is used before it is defined",
    "%0 = sin %1 : f64\nreturn %0": "%0 is defined twice",
    "%3 = nonsense %0 : f64\nreturn %3": "`nonsense` is no instruction, and no entry of the table",
    "%3 = sin %0 : f65\nreturn %3": "`f65` is no type",
    "return %1": "`f` returns other types than it says",
    "$ return %0": "`$` begins no token",
    "%3, %4 = call g(%0) : (f64)\nreturn %3": "1 results, and 2 names",
    "%3 = new list f64 of %0\nreturn %0": "`list f64` has no shape: a list is `list f64[20]`",
}


@pytest.mark.parametrize(("body", "message"), UNREADABLE.items())
def test_a_text_that_is_no_ir_says_why(body: str, message: str) -> None:
    with pytest.raises(IRError, match=re.escape(message)):
        parse(one(body))


UNSOUND = {
    "%3 = add %0, %1 : f64\nreturn %3": "`add` has operands of several types: f64, i64",
    "%3 = sin %0, %0 : f64\nreturn %3": "`sin` takes 1 operands",
    "%3 = lt %0, %0 : f64\nreturn %3": "`lt` gives bool, not f64",
    "%3 = where %0, %0, %0 : f64\nreturn %3": "a condition is a bool, and this is f64",
    "%3 = sum %0 : f64\nreturn %3": "`sum` isn't elementwise",
    "%3 = const 1 : f64\nreturn %3": "1 is no constant of type f64",
    "%3 = cast %0 : bool\nreturn %0": "f64 can't be cast to bool",
    "%3 = call g(%0) : (f64)\nreturn %3": "there is no region g",
    "%3 = if %0 { yield %0 } else { yield %0 }\nreturn %3": "a condition is a bool, and this is f64",
    "%3 = if %2 { yield %0 } else { yield %1 }\nreturn %3": r"`else` has the types \(i64\), and \(f64\) are expected",
    "%3 = while (%4 = %0) { yield %2 } do (%5) { yield %1 }\nreturn %3": r"an iteration has the types \(i64\)",
    "%3 = for %4 in %0 with (%5 = %0) { yield %5 }\nreturn %3": "a loop counts in ints",
    "%3 = push %0, %0\nreturn %3": "f64 is no stack",
    "%3 = new stack\n%4 = push %3, %3\nreturn %0": "a stack is no entry of a stack",
    "%3, %4 = pop %0 : (f64)\nreturn %4": "f64 is no stack",
    "check %0\nreturn %0": "a condition is a bool, and this is f64",
    "%3 = if %2 { %4 = sin %0 : f64 yield %4 } else { yield %0 }\nreturn %4": "uses a value that isn't defined",
}


@pytest.mark.parametrize(("body", "message"), UNSOUND.items())
def test_the_verifier_says_what_is_wrong(body: str, message: str) -> None:
    with pytest.raises(IRError, match=message):
        verify(parse(one(body)))


def test_two_regions_of_one_name() -> None:
    region = one("return %0")
    with pytest.raises(IRError, match="two regions have one name"):
        verify(parse(region + region))


@pytest.mark.parametrize(
    "region",
    [
        "region f(%0: stack) -> () { return }",
        "region f() -> (stack) { %0 = new stack\nreturn %0 }",
        "region f(%0: stack, %1: stack) -> (stack, stack) { return %1, %0 }",
    ],
)
def test_a_region_gives_back_the_stacks_that_it_takes(region: str) -> None:
    with pytest.raises(IRError, match="doesn't give back the stacks that it takes"):
        verify(parse(region))
    verify(parse("region f(%0: stack, %1: f64) -> (stack) { %2 = push %0, %1\nreturn %2 }"))
