"""Jacobians in forward mode: tangents of many elements along one call give what calls one after
another give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.transforms import jacobian_transforms

from ..programs import evaluate, failure, outputs
from .random_programs import RELAXED, Program, points, programs

NEVER = 10**9
ASKED = """
j = jacobian(f, wrt = [0, 1], mode = "forward")(x, v)
h = jacobian(jacobian(f, wrt = 1, mode = "forward"), wrt = 1, mode = "forward")(x, v)
r = jacobian(fn(v) = jacobian(f, wrt = 1, mode = "forward")(x, v))(v)
g = grad(fn(v) = sum(jacobian(f, wrt = 1, mode = "forward")(x, v)))(v)
m = vmap(fn(w) = jacobian(f, wrt = 1, mode = "forward")(x, w))(array([v, 2.0*v]))
output j, h, r, g, m
"""


def answers(source: str, few: int, together: int, inputs: dict[str, Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jacobian_transforms, "FEW", few)
        patch.setattr(jacobian_transforms, "TOGETHER", together)
        return outputs(source, inputs)


def agree(found: Any, expected: Any) -> None:
    if isinstance(expected, dict | list):
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            agree(found[key], expected[key])
    else:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(
            found, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0.0))
        )


@settings(RELAXED, max_examples=25)
@given(st.sampled_from(["scalar", "vector"]).flatmap(programs), points)
def test_random_programs(program: Program, point: tuple[float, np.ndarray]) -> None:
    inputs = dict(zip("xv", point, strict=True))
    source = program.function + ASKED
    expected = answers(source, NEVER, 1, inputs)
    for together in (2, jacobian_transforms.TOGETHER):  # some elements at a time, and all
        agree(answers(source, 0, together, inputs), expected)


# The function, its arguments, and what they are differentiated by.
FUNCTIONS = [
    ("fn f(x) { y = x; for i in range(4) { y[i] = y[i] * x[3 - i] }; return y }", "(x)"),
    ("fn f(x) { y = x; while sum(y) < 9.0 { y = y * 1.5 + x }; return [y, sum(y)] }", "(x)"),
    ("fn f(x) { l = []; for v in x { l = append(l, sin(v)) }; return l }", "(x)"),
    ("fn f(x) = x[x > 2.0]**2", "(x)"),
    ("fn f(x) = grad(fn(z) = sum(z**3))(x) * x", "(x)"),
    ("fn f(x) = jvp(fn(z) = z**3)(x, x)", "(x)"),
    ("fn f(d) = d.a * sum(d.b)", "({a: x, b: x[:3]})"),
    ("fn f(x) = cast(x, \"float32\")**2", "(x)"),
    ("fn f(x) = real((x + 2j) * x)", "(x)"),
    ("fn f(x) = 3.0", "(x)"),
    ("fn f(x) { return x**2 } backward (dy) { return dy * 7.0 }", "(x)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "call"), FUNCTIONS, ids=[function for function, _ in FUNCTIONS]
)
def test_functions(function: str, call: str) -> None:
    source = f'var x = [1.0, 2.0, 3.0, 4.0]\n{function}\nj = jacobian(f, mode = "forward"){call}\noutput j'
    found, expected = (answers(source, few, 2**17, {}) for few in (0, NEVER))
    agree(found, expected)


def test_the_function_is_called_once_for_many_elements() -> None:
    source = """frozen c = 0.0; x = [1.0, 2.0, 3.0, 4.0]
fn f(x) { c :+= 1.0; return x * normal([4]) }
j = jacobian(f, mode = "forward")(x)
output c, j"""
    found = answers(source, 0, 2**17, {})
    assert found["c"] == 1.0
    np.testing.assert_array_equal(found["j"], np.diag(outputs("output normal([4])").popitem()[1]))


def test_an_error_is_that_of_a_call() -> None:
    found = failure('fn f(x) = x[7] * x; output jacobian(f, mode = "forward")(ones(5))')
    assert (found.code, "row" in found.message) == ("E303", False)


def test_complex_arguments_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jacobian_transforms, "FEW", 0)
    source = "z = array([1.0 + 2j, 3j, 0.5]); fn f(z) = real(z * z)\n"
    found = outputs(
        f'{source}output j = jacobian(f, mode = "forward")(z); output k = jacobian(f)(z)'
    )
    agree(found["j"], found["k"])
    assert (
        evaluate(
            'n = [1, 2, 3]; output jacobian(fn(n) = 2.0 * n[0], mode = "forward")(n)'
        ).outputs.popitem()[1]
        is None
    )
