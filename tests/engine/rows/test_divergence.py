"""Rows that take different paths, together: what each gives alone, and its gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gradcli
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import INTERPRETED, only
from tests.engine.programs import garbage

from ..programs import evaluate
from .divergent_programs import programs

ROWS = [-1.3, -0.6, -0.2, 0.02, 0.3, 0.65, 0.9, 1.4]
TOGETHER = """xs = array(XS)
value = vmap(f, in_axes = [0, none])(xs, 0.7)
by_row = vmap(grad(f), in_axes = [0, none])(xs, 0.7)
by_shared = grad(fn(w) = sum(vmap(f, in_axes = [0, none])(xs, w)))(0.7)
along = jvp(fn(w) = vmap(f, in_axes = [0, none])(xs, w))(0.7, 1.0)
second = vmap(grad(grad(f)), in_axes = [0, none])(xs, 0.7)
turned = vmap(fn(x, w) = jvp(grad(f))(x, 1.0, w), in_axes = [0, none])(xs, 0.7)
output value, by_row, by_shared, along, second, turned
"""
ALONE = """value = []
by_row = []
along = []
second = []
turned = []
by_shared = 0.0
for x in XS {
    value = append(value, f(x, 0.7))
    by_row = append(by_row, grad(f)(x, 0.7))
    along = append(along, jvp(fn(w) = f(x, w))(0.7, 1.0))
    second = append(second, grad(grad(f))(x, 0.7))
    turned = append(turned, jvp(grad(f))(x, 1.0, 0.7))
    by_shared += grad(f, wrt = 1)(x, 0.7)
}
output value, by_row, by_shared, along, second, turned
"""


def both(functions: str, rows: list[float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outputs of the rows together, and of each alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = [functions + text.replace("XS", str(rows)) for text in (TOGETHER, ALONE)]
        together, alone = [evaluate(text, grad=False).outputs for text in texts]
    return together, alone


@settings(max_examples=30, deadline=None)
@given(programs)
def test_rows_together_give_what_they_give_alone(functions: str) -> None:
    together, alone = both(functions, ROWS)
    for name, value in alone.items():
        np.testing.assert_allclose(together[name], value, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("rows", [[0.3], [0.5, 0.5, 0.5]], ids=["one", "equal"])
def test_few_rows(rows: list[float]) -> None:
    together, alone = both("fn f(x, w) { if x > 0.4 { return x * w }; return x**3 + w }\n", rows)
    for name, value in alone.items():
        np.testing.assert_allclose(together[name], value, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize(
    ("program", "row", "message"),
    [
        ("print vmap(fn(i) = 1 // i)([1, 2, 0, 3])", 2, "int division by zero"),
        (
            "print vmap(fn(x, i) = x[i])([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], [0, 5, 1])",
            1,
            "index 5 is out of range",
        ),
        (
            "fn f(x) { if x > 1 { return 1 // int64(x - 2) }; return 0 }; print vmap(f)([0.0, 1.0, 2.5, 5.0])",
            2,
            "division",
        ),
        (
            "fn f(n) { s = 0; for i in range(n) { s = s + i }; return 7 // s }; print vmap(f)([9, 0])",
            1,
            "division",
        ),
        ("v = arange(40000) - 39990; print vmap(fn(i) = 1 // i)(v)", 39990, "int division by zero"),
    ],
)
def test_the_row_that_fails_is_named(program: str, row: int, message: str) -> None:
    with pytest.raises(GradcliError) as raised:
        evaluate(program)
    assert message in raised.value.diagnostics[0].message
    assert f", in row {row} of `vmap`" in raised.value.diagnostics[0].message


def test_a_failure_that_is_expected_leaves_nothing() -> None:
    source = """var w = 1.0
fn f(x) { print "at", x; w :+= 0.0; return 1 // int64(x) }
expect error "in row 1" { print vmap(f)([1.0, 0.0]) }
y = vmap(fn(x) = x * w)([1.0, 2.0])
expect grad(sum(y), w) ~= 3.0
expect w ~= 1.0
"""
    evaluation = evaluate(source)
    assert [e.passed for e in evaluation.expectations] == [True] * 3


@pytest.mark.parametrize(
    "call",
    [
        "sum(vmap(f)(xs))",
        "grad(fn(w) = sum(vmap(f)(xs * w)))(1.0)",
        "sum(vmap(grad(f))(xs))",
        "grad(sum(vmap(f)(xs * w)), w)",
        "sum(vmap(picks)(vmap(fn(x) = xs * x)(xs)))",
        "sum(vmap(fn(x) = sum(vmap(f)(xs * x)))(xs))",
        "sum(vmap(fn(x) = sum(hessian(fn(v) = f(v[0]) * v[1])([x, x])))(xs))",
    ],
)
def test_rows_leave_nothing_to_the_collector(call: str) -> None:
    """It doesn't look while a program runs: groups, the values that they narrowed and parts of
    frames go by themselves."""
    functions = """fn f(x) { s = x * 2; if x > 0.5 { s = s * x } else { s = s - x }; while s < 3 { s = s + 0.5 + x }; return s }
fn picks(v) { if v[0] > 0.1 { return sum(v[v > 0.3]) }; return v[1] }
xs = [0.1, 0.4, 0.6, 0.9]
xs = array(xs)
var w = 1.0
"""

    with only(INTERPRETED):  # what compiling leaves isn't the rows'
        few, many = (
            garbage(f"{functions}for i in range({n}) {{ y = detach({call}) }}\noutput y")
            for n in (3, 13)
        )
    assert many < few + 10


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        ("x > 0", ""),
        ("x > 2", "expected `x > 2`, and it is false in row 0 of `vmap`"),
        ("x < 50", "expected `x < 50`, and it is false in row 2 of `vmap`"),
        ("x ~= [1.0, 7.5, 100.0][int64(k)]", ""),
        ("x ~= 1.0", "expected 1.0, got 7.5, off by 6.5 (relative 6.5), in row 1 of `vmap`"),
        ("[x, 2 * x] ~= [1, 2] * x", ""),
        (
            "[x, 2.0] ~= [x, x + 1]",
            "element 1: expected 8.5, got 2.0, off by 6.5 (relative 0.765), in row 1 of `vmap`",
        ),
        ("[x, x] ~= [x, x, x]", "expected shape (3,), got (2,)"),
    ],
)
def test_expectations_hold_in_every_row(expectation: str, message: str) -> None:
    source = f"fn f(x, k) {{ expect {expectation}; return x }}\ny = vmap(f)([1.0, 7.5, 100.0], [0.0, 1.0, 2.0])"
    evaluation = gradcli.load(source=source).run()
    assert [e.message for e in evaluation.expectations][-1] == message


def test_lists_that_are_equal_in_some_rows() -> None:
    source = """fn f(x) { if [x, 1.0] == [2.0, 1.0] { return 10.0 * x }; return x if {a: x} != {a: 3.0} else -x }
y = vmap(f)([1.0, 2.0, 3.0])
expect y ~= [1.0, 20.0, -3.0]
"""
    assert [e.passed for e in gradcli.load(source=source).run().expectations] == [True]
