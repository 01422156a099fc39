"""`vmap`: its arguments and results, what it refuses, and rows that can't go on together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli

from ..programs import failure, outputs, value

A = "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"

VALUES: list[tuple[str, Any]] = [
    ("vmap(sum)(A)", [6.0, 15.0]),
    ("vmap(sum, in_axes = 1)(A)", [5.0, 7.0, 9.0]),
    ("vmap(sum, in_axes = -1)(A)", [5.0, 7.0, 9.0]),
    ("vmap(fn(x, w) = dot(x, w), in_axes = [0, none])(A, [1.0, 0.0, 2.0])", [7.0, 16.0]),
    (
        "vmap(fn(x, y) = x * y, in_axes = [1, 0])(A, [10.0, 20.0, 30.0])",
        [[10.0, 40.0], [40.0, 100.0], [90.0, 180.0]],
    ),
    ("vmap(fn(x, scale = 1.0) = sum(x) * scale)(A, scale = [1.0, 10.0])", [6.0, 150.0]),
    ("vmap(fn(x) = 5.0)(A)", [5.0, 5.0]),
    ("vmap(fn(x) = array(A)[0])(A)", [[1.0, 2.0, 3.0]] * 2),
    ("vmap(fn(x) = [x[0], x[1:]])(A)[1]", [[2.0, 3.0], [5.0, 6.0]]),
    ("vmap(fn(p) = p.a * p.b)({a: [1.0, 2.0], b: [3.0, 4.0]})", [3.0, 8.0]),
    ("vmap(vmap(fn(x) = x**2))(A)", [[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]),
    ("vmap(sin)(zeros(0))", []),
    ("vmap(fn(x) = sum(x[x > 2.5]))(A)", [3.0, 15.0]),
    ("vmap(fn(n) = sum(ones(n)))([1, 3, 2])", [1.0, 3.0, 2.0]),
    ("vmap(fn(n) = len(range(n)))([1, 3, 2])", [1, 3, 2]),
    ("vmap(fn(k) = [1.0, 5.0][k])([1, 0])", [5.0, 1.0]),
    ("vmap(fn(x) = (sin if x > 1 else cos)(x))([0.0, 0.5])", [1.0, np.cos(0.5)]),
    (
        "vmap(fn(x) = vmap(fn(y) = sum(ones(int64(x))) * y)([1.0, 2.0]))([1.0, 3.0])",
        [[1.0, 2.0], [3.0, 6.0]],
    ),
    ('vmap(fn(x) = 1 if ("a" if x > 0 else "b") == "a" else 2)([1.0, -1.0])', [1, 2]),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_values(expression: str, expected: Any) -> None:
    np.testing.assert_allclose(
        value(f"y = {expression.replace('A', A)}; output y"), expected, rtol=1e-15
    )


def test_what_rows_share_inside_a_recorded_transform() -> None:
    """The sweep goes over rows, and what it gives is on the trace."""
    source = "var v = [0.25, 0.5]\ng = grad(fn(v) = sum(vmap(fn(w) = w*sum(v**2))([1.0, 2.0])))(v)\noutput g, grad(g, v)"
    np.testing.assert_allclose(list(outputs(source).values()), [[1.5, 3.0], [6.0, 6.0]], rtol=1e-15)


REFUSALS = [
    (
        "vmap(sin)(3.0)",
        "E314",
        "`vmap(sin)` takes its rows along axis 0 of float64 3.0, which there isn't",
    ),
    (
        "vmap(sin, in_axes = 2)([1.0])",
        "E314",
        "takes its rows along axis 2 of float64 of shape (1,), which there isn't",
    ),
    (
        "vmap(fn(x, y) = x)([1.0], [1.0, 2.0])",
        "E314",
        "differ in their numbers of rows: 1 in float64 of shape (1,) and 2 in",
    ),
    ("vmap(sin, in_axes = none)(1.0)", "E314", "has no argument with rows"),
    (
        "vmap(sin, in_axes = [0, 0])([1.0])",
        "E311",
        "`in_axes` has 2 entries, and `vmap(sin)` is called with 1 arguments",
    ),
    ("vmap(sin, in_axes = 1.5)([1.0])", "E311", "`in_axes` is 1.5"),
    ('vmap(fn(x) = "a")([1.0])', "E314", '`fn` gives the string "a", which has no rows'),
    ("vmap(fn(n) = ones(n))([1, 2])", "E314", "the rows give values that are no array together"),
    ("vmap(f)([2.0, 0.5])", "E307", "`y` has no value yet, in row 1 of `vmap`"),
    ("vmap(h)([2.0, 0.5])", "E307", "`y` has no value yet, in row 1 of `vmap`"),
    ("vmap(up)([2.0, 0.5])", "E312", "`w` would have a state for each row outside of `vmap`"),
]


@pytest.mark.parametrize(("expression", "code", "message"), REFUSALS)
def test_refusals(expression: str, code: str, message: str) -> None:
    functions = """var w = 1.0
fn f(x) { if x > 1 { y = 2.0 }; return y }
fn h(x) { if x > 1 { y = x }; return y + x }
fn up(x) { w :+= x; return x }
"""
    with pytest.raises(gradcli.GradcliError) as raised:
        gradcli.load(source=f"{functions}y = {expression}").run()
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message


def test_what_was_changed_before_rows_part_is_taken_back() -> None:
    source = """var n = 0.0
fn f(x) { n :+= 1.0; print "at"; return sum(x[x > 0]) }
y = vmap(f)([[1.0, -1.0], [-1.0, 2.0], [3.0, 4.0]])
output y, n
"""
    evaluation = gradcli.load(source=source).run()
    np.testing.assert_allclose(evaluation.outputs["y"], [1.0, 2.0, 7.0])
    assert (
        evaluation.outputs["n"] == 3.0
    )  # once for each sort of rows, and not for the call that was given up


@pytest.mark.parametrize(
    "body",
    [
        "w :+= x; return x",
        "if x > 1 { w :+= 1.0 }; return 1 // int64(x - x)",
        "if x > 1 { w :+= 1.0; return x[7] }; return x",
    ],
)
def test_what_fails_leaves_no_state_behind(body: str) -> None:
    source = f"""var w = 1.0
fn f(x) {{ {body} }}
expect error "" {{ print vmap(f)([2.0, 0.5]) }}
y = w * 3
output y, w
"""
    evaluation = gradcli.load(source=source).run()
    assert evaluation.outputs == {"y": 3.0, "w": 1.0}
    assert evaluation.gradients["y"]["w"] == 3.0
    assert not evaluation.printed


@pytest.mark.parametrize(("x", "u"), [(-1.0, 2.0), (2.0, -1.0), (-3.0, -1.0), (2.0, 3.0)])
def test_rows_inside_rows_fail_as_they_do_alone(x: float, u: float) -> None:
    functions = "fn f(z) { if z > 0 { y = z * none } else { y = ones(2)[5] }; return y }\nfn g(x, u) = sum(vmap(f)(array([x, u])))\n"
    alone = failure(f"{functions}output r = g({x}, {u})")
    together = failure(f"{functions}output r = vmap(g)([{x}, 1.0], [{u}, 3.0])")
    assert (together.code, together.span.line) == (alone.code, alone.span.line)
