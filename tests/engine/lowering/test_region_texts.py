"""Programs and their regions as text."""

from __future__ import annotations

import pytest

from .region_cases import lowered

TEXTS = {
    "a loop whose first iteration makes a float of an int": (
        """\
var x = 1.5
s = 0
for i in range(4) { s += x }
output s
""",
        """\
region main(%0: f64) -> (f64) {
  %1 = const 0 : i64
  %2 = const 4 : i64
  %3 = const 0 : i64
  %4 = const 1 : i64
  %5 = const 0 : i64
  %6 = const True : bool
  %7 = const 0 : i64
  %8 = cast %1 : f64
  %9 = add %8, %0 : f64 @ 3:21
  %10 = const 1 : i64
  %11 = const 1 : i64
  %12 = const 3 : i64
  %13 = for %14 in %12 with (%15 = %9) {
    %16 = add %10, %14 : i64 @ 3:1
    %17 = add %15, %0 : f64 @ 3:21
    yield %17
  }
  return %13
}
""",
    ),
    "a return in a loop": (
        """\
var x = 1.5
fn f(a) { for i in range(9) { if a > i { return a } }; return 0.5 }
output f(x)
""",
        """\
region main(%0: f64) -> (f64) {
  %1 = const 9 : i64
  %2 = const 0 : i64
  %3 = const 1 : i64
  %4 = const True : bool
  %5 = const False : bool
  %6 = const 0.0 : f64
  %7 = const 0 : i64
  %8, %9, %10, %11 = while (%12 = %4, %13 = %7, %14 = %5, %15 = %6) {
    %16 = if %12 {
      %17 = lt %13, %1 : bool @ 2:11
      yield %17
    } else {
      %18 = const False : bool
      yield %18
    }
    yield %16
  } do (%19, %20, %21, %22) {
    %23 = cast %20 : f64
    %24 = gt %0, %23 : bool @ 2:34
    %25, %26, %27 = if %24 {
      %28 = const False : bool
      %29 = const True : bool
      yield %28, %29, %0
    } else {
      %30 = const True : bool
      %31 = const False : bool
      %32 = const 0.0 : f64
      yield %30, %31, %32
    }
    %33 = const 1 : i64
    %34 = add %20, %33 : i64 @ 2:11
    yield %25, %34, %26, %27
  }
  %35 = if %10 {
    yield %11
  } else {
    %36 = const 0.5 : f64
    yield %36
  }
  return %35
}
""",
    ),
    "an int or a float": (
        """\
var x = 1.5
a = 1
if x > 1 { a = x }
output a * 2.0
""",
        """\
region main(%0: f64) -> (f64) {
  %1 = const 1 : i64
  %2 = const 1 : i64
  %3 = cast %2 : f64
  %4 = gt %0, %3 : bool @ 3:4
  %5, %6, %7 = if %4 {
    %8 = const False : bool
    %9 = const 0 : i64
    yield %8, %9, %0
  } else {
    %10 = const True : bool
    %11 = const 0.0 : f64
    yield %10, %1, %11
  }
  %12 = const 2.0 : f64
  %13 = if %5 {
    %14 = cast %6 : f64
    yield %14
  } else {
    yield %7
  }
  %15 = mul %13, %12 : f64 @ 4:8
  return %15
}
""",
    ),
    "an element at an index": (
        """\
var x = 1.5
frozen k = 1
v = zeros(2)
v[0] = x
output v[k]
""",
        """\
region main(%0: f64, %1: i64) -> (f64) {
  %2 = const 2 : i64
  %3 = const 0.0 : f64
  %4 = const 0 : i64
  %5 = beside %3, %0 : f64 @ 4:1
  %6 = const 2 : i64
  %7 = const 0 : i64
  %8 = lt %1, %7 : bool @ 5:8
  %9 = add %1, %6 : i64 @ 5:8
  %10 = where %8, %9, %1 : i64 @ 5:8
  %11 = le %7, %10 : bool @ 5:8
  check %11
  %12 = lt %10, %6 : bool @ 5:8
  check %12
  %13 = const 1 : i64
  %14 = lt %10, %13 : bool @ 5:8
  %15 = where %14, %0, %5 : f64 @ 5:8
  return %15
}
""",
    ),
    "a function that calls itself": (
        """\
var n = 4
fn f(k) = 1 if k == 0 else k * f(k - 1)
output f(n)
""",
        """\
region main(%0: i64) -> (i64) {
  %1 = const 1 : i64
  %2 = call f_1(%1, %0) : (i64) @ 3:8
  return %2
}
region f_1(%0: i64, %1: i64) -> (i64) {
  %2 = const 2000 : i64
  %3 = le %0, %2 : bool @ 3:8
  check %3
  %4 = const 0 : i64
  %5 = eq %1, %4 : bool @ 2:16
  %6 = if %5 {
    %7 = const 1 : i64
    yield %7
  } else {
    %8 = const 1 : i64
    %9 = sub %1, %8 : i64 @ 2:34
    %10 = const 1 : i64
    %11 = add %0, %10 : i64 @ 2:32
    %12 = call f_1(%11, %9) : (i64) @ 2:32
    %13 = mul %1, %12 : i64 @ 2:28
    yield %13
  }
  return %6
}
""",
    ),
}


@pytest.mark.parametrize(("source", "wanted"), TEXTS.values(), ids=TEXTS.keys())
def test_texts(source: str, wanted: str) -> None:
    assert lowered(source).text == wanted
