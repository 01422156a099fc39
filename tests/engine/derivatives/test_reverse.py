"""Reverse mode against the complex step, on random programs; and what `grad` takes and gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.engine.backends.tiers import INTERPRETED, only
from gradcli.ops import OPS
from gradcli.ops.registry import replaced
from gradcli.ops.rules import OfSeveral

from ..programs import evaluate, failure, outputs, value
from .random_programs import RELAXED, Program, points, programs

# ---- random programs -----------------------------------------------------------------------------


@settings(RELAXED, max_examples=120)
@given(st.sampled_from(["scalar", "vector"]).flatmap(programs), points)
def test_gradients_of_random_programs(program: Program, point: tuple[float, np.ndarray]) -> None:
    x, v = point
    evaluation = evaluate(
        f'{program.source}\ng = grad(y, [x, v], unconnected = "zero")\noutput y, g',
        {"x": x, "v": v},
        unconnected="zero",
    )
    np.testing.assert_allclose(
        evaluation.outputs["y"], np.real(program.twin(x + 0j, v)), rtol=1e-9, atol=1e-11
    )
    expected = program.gradients(x, v)
    automatic = evaluation.gradients.get(
        "y", {"x": expected[0], "v": expected[1]}
    )  # none if y turned out a constant
    for recorded, plain, twin in zip(
        evaluation.outputs["g"], automatic.values(), expected, strict=True
    ):
        np.testing.assert_allclose(
            recorded, twin, rtol=1e-7, atol=1e-9
        )  # the sweep that can be differentiated again
        np.testing.assert_allclose(plain, twin, rtol=1e-7, atol=1e-9)  # the one that can't


# ---- what `grad` takes and gives -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        # targets
        ("var x = 3.0; g = grad([x**2, x], x)", 7.0),
        ("var x = 3.0; g = grad({a: x**2, b: [x, x]}, x)", 8.0),
        ("var x = 2.0; g = grad(x * [3.0, 4.0], x)", 7.0),
        ("var x = 2.0; g = grad(x, x)", 1.0),
        ("var x = [1.0, 2.0]; g = grad(x, x)", [1.0, 1.0]),
        ("var x = 2.0; g = grad([x, 1.0, 2], x)", 1.0),
        # sources
        ("var x = 3.0; y = x * x; z = y * y; g = grad(z, y)", 18.0),
        ("var x = 3.0; y = x * x; z = y * y + x; g = grad(z, [x, y])", [109.0, 18.0]),
        (
            "var a = 2.0; var b = 5.0; d = grad(a*b, {p: a, q: [b, {r: a}]}); g = [d.p, d.q[0], d.q[1].r]",
            [5.0, 2.0, 5.0],
        ),
        ("var x = 2.0; g = grad(x * x, [x, x])", [4.0, 4.0]),
        ("var x = 2.0; z = x; g = grad(z**2, x)", 4.0),
        ("var x = 2.0; y = x**2; z = y; w = 3.0 * y; g = grad(w, z)", 3.0),
        ("var v = [1.0, 2.0]; a = v[0]; g = grad(a * v[0], a)", 1.0),
        # the same intermediate read several times, and one that is no ancestor of the other
        ("var x = 2.0; y = x**2; a = 3*y; b = 5*y; g = grad(a*b, y)", 120.0),
        ("var x = 2.0; a = 3*x; b = 5*x; g = grad(b, a) == none", True),
        # through the sums of broadcasting
        ("var b = [1.0, 2.0]; g = grad(ones([3, 2]) * b, b)", [3.0, 3.0]),
        ("var b = 2.0; g = grad(ones([3, 2]) * b, b)", 6.0),
        ("var b = [[1.0], [2.0]]; g = grad(ones([2, 4]) * b, b)[:, 0]", [4.0, 4.0]),
        ("var x = 2.0; g = grad([x, x**2] @ [1.0, 10.0], x)", 41.0),
        # seeds
        ("var x = [1.0, 2.0]; g = grad(x**2, x, seed = [1.0, 10.0])", [2.0, 40.0]),
        ("var x = [1.0, 2.0]; g = grad(x**2, x, seed = [1, 10])", [2.0, 40.0]),
        ("var x = 2.0; g = grad([x, x**2], x, seed = [3.0, 10.0])", 43.0),
        ("var x = 2.0; g = grad(x**2, x, seed = 0.5)", 2.0),
        ("var x = [1.0, 2.0]; g = grad([x**2, sum(x)], x, seed = [[1.0, 0.0], 3.0])", [5.0, 3.0]),
        ("var x = [1.0, 2.0]; var z = 3.0; g = jvp(x * z, [x, z], [[1.0, 0.0], 2.0])", [5.0, 4.0]),
        ("var x = 2.0; g = grad({a: x, b: [x**2, x]}, x, seed = {b: [1.0, 2.0], a: 10.0})", 16.0),
        ("var x = 3.0; var s = 2.0; g = grad(grad(x**2, x, seed = s), s)", 6.0),
        # higher order
        ("var x = 2.0; g = grad(grad(grad(x**5, x), x), x)", 240.0),
        ("var x = 2.0; var y = 3.0; g = grad(grad(x**2 * y**3, x), y)", 108.0),
        ("var x = 2.0; y = x**3; g = grad(grad(y, x)**2, x)", 2 * 12.0 * 12.0),
        ("var x = 2.0; y = x**3; d = grad(y, x); z = d * x; g = grad(z, x)", 36.0),
        ("var x = [1.0, 2.0]; n = norm(grad(sum(x**3), x)); g = grad(n**2, x)", [36.0, 288.0]),
        ("var x = 1.5; f = exp(2*x); d = f; for i in range(4) { d = grad(d, x) }; g = d / f", 16.0),
    ],
)
def test_grad(program: str, expected: object) -> None:
    np.testing.assert_allclose(
        np.asarray(outputs(program + "\noutput g")["g"]), expected, rtol=1e-12
    )


def test_unconnected_sources_are_none_or_zeros_of_their_shape() -> None:
    found = outputs("""
        var x = 2.0
        var m = ones([2, 3])
        y = x**2
        a = grad(y, {x: x, m: m})
        b = grad(y, {x: x, m: m}, unconnected = "zero")
        output a, b
        """)
    assert found["a"] == {"x": 4.0, "m": None}
    assert found["b"]["x"] == 4.0
    np.testing.assert_array_equal(found["b"]["m"], np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("program", "code", "says"),
    [
        ("var x = 1.0; grad(x * 1j, x)", "E314", "complex"),
        ('var x = 1.0; grad("x", x)', "E314", "string"),
        ("var x = 1.0; grad(none, x)", "E314", "none"),
        ("var x = [1.0, 2.0]; grad(x**2, x, seed = [1.0, 2.0, 3.0])", "E314", "seed"),
        ("var x = 1.0; grad([x, x], x, seed = [1.0, 2.0, 3.0])", "E314", "list of 3"),
        ("var x = 1.0; grad([x, x], x, seed = 1.0)", "E314", "list of 2"),
        ("var x = 1.0; jvp(x, [x, x], [1.0])", "E314", "structure of its source"),
        ("var x = [1.0, 2.0]; grad([x, x], x, seed = [1.0])", "E314", "seed"),
        ('var x = 1.0; grad(x, x, unconnected = "nil")', "E311", "zero"),
        ("var x = [1.0, 2.0]; jvp(x**2, x, [1.0, 2.0, 3.0])", "E314", "vector"),
        ("var x = 1.0; hvp(x * 1j, x, 1.0)", "E314", "complex"),
    ],
)
def test_refusals(program: str, code: str, says: str) -> None:
    error = failure(program)
    assert error.code == code
    assert says in f"{error.message} {error.help}"


def test_a_gradient_of_the_whole_is_the_sum_of_gradients_of_the_parts() -> None:
    found = outputs("""
        var w = normal([4, 3])
        x = normal([5, 4])
        y = tanh(x @ w)
        whole = grad(sum(y), w)
        parts = zeros([4, 3])
        for i in range(5) { for j in range(3) { parts += grad(y[i, j], w) } }
        by_rows = grad([y[0], y[1:4], y[-1]], w)
        output whole, parts, by_rows
        """)
    np.testing.assert_allclose(found["parts"], found["whole"], rtol=1e-12)
    np.testing.assert_allclose(found["by_rows"], found["whole"], rtol=1e-12)


def test_the_jacobian_has_the_shape_of_target_and_source() -> None:
    found = outputs("""
        var w = normal([2, 3])
        j = jacobian(w.T @ w, w)
        h = hessian(sum(w**3), w)
        d = jacobian({a: w[0], b: [sum(w)]}, w)
        s = jacobian(sum(w), {w: w})
        output j, h, d, s
        """)
    assert found["j"].shape == (3, 3, 2, 3)
    assert found["h"].shape == (2, 3, 2, 3)
    assert found["d"]["a"].shape == (3, 2, 3)
    assert found["d"]["b"][0].shape == (2, 3)
    assert found["s"]["w"].shape == (2, 3)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("var x = 0.0; g = grad(where(x > 0, sqrt(x), 0), x)", 0.0),
        ("var x = 0.0; g = grad(0.0 * sqrt(x), x)", 0.0),
        ("var x = 0.0; g = grad(0.0 * log(x), x)", 0.0),
        ("var x = [0.0, 4.0]; g = grad(where(x > 0, sqrt(x), 0), x)", [0.0, 0.25]),
        ("var x = [-1.0, 0.0, 2.0]; g = grad(where(x > 0, 1/x, 0), x)", [0.0, 0.0, -0.25]),
        ("var x = [-1.0, 2.0]; g = grad(sum(where(x > 0, log(x), 0)), x)", [0.0, 0.5]),
        ("var x = [0.0, 4.0]; g = grad(sqrt(x)[1], x)", [0.0, 0.25]),
        ("var x = [0.0, 4.0]; y = sqrt(x); y[0] = 1.0; g = grad(y, x)", [0.0, 0.25]),
        ("var x = 0.0; g = grad(grad(where(x > 0, x**1.5, 0), x), x)", 0.0),
    ],
)
def test_what_nothing_depends_on_contributes_exactly_zero(program: str, expected: object) -> None:
    evaluation = evaluate(program + "\noutput g")
    np.testing.assert_array_equal(evaluation.outputs["g"], expected)


def test_a_long_chain_needs_no_stack() -> None:
    assert value(
        "var x = 1.0; y = x; for i in range(50000) { y = y + 1e-5 * x }; output grad(y, x)"
    ) == pytest.approx(1.5)


def test_gradients_inside_a_loop_see_the_loop_so_far() -> None:
    source = "var x = 2.0; y = 1.0; gs = []; for i in range(4) { y *= x; gs = append(gs, grad(y, x)) }; output gs"
    assert value(source) == [1.0, 4.0, 12.0, 32.0]


def test_complex_values_on_the_way_to_a_real_target() -> None:
    """The gradient by a complex source is ∂f/∂re + i·∂f/∂im, in both sweeps."""
    for text, expected in [
        ("abs(z)", (1 + 2j) / abs(1 + 2j)), ("real(z*z)", 2 - 4j), ("imag(z*z)", 4 + 2j),
        ("angle(z)", (-2 + 1j) / 5),
        ("abs(exp(z))**2", 2 * np.exp(2)), ("real(conj(z) * z)", 2 + 4j),
        ("abs(z)", (1 + 2j) / abs(1 + 2j)),
    ]:  # fmt: skip
        evaluation = evaluate(f"var z = 1 + 2j; y = {text}; g = grad(y, z); output y, g")
        assert evaluation.outputs["g"] == pytest.approx(expected), text
        assert evaluate(f"var z = 1 + 2j; y = {text}").gradients["y"]["z"] == pytest.approx(
            expected
        ), text
        many = evaluate(f"var z = [1 + 2j, 1 + 2j]; y = sum({text}); output y")
        assert many.gradients["y"]["z"] == pytest.approx(np.array([expected, expected])), text


def test_a_gradient_by_a_complex_source_is_complex_even_where_it_is_real() -> None:
    for source in ("1 + 2j", "[1 + 2j, 1 + 2j]"):
        found = outputs(f"var z = {source}; y = sum(real(z)); g = grad(y, z); output g")
        assert np.asarray(found["g"]).dtype == complex
        found = outputs(
            f"var z = {source}; y = sum(real(z)); g = grad(y, z); h = jvp(y, z, z); output g, h"
        )
        assert np.asarray(found["g"]).dtype == complex
        assert found["h"] == np.sum(np.real(found["g"]))


def test_a_rule_for_real_numbers_is_never_used_on_complex_ones() -> None:
    """The derivatives of `abs` go through another rule where a number is complex, to any order;
    there is none for `sign`."""
    size = "abs(x + 1j * 3.0)"
    assert outputs(f"var x = 2.0; y = grad({size}, x)")["y"] == pytest.approx(2 / 13**0.5)
    assert value(f"var x = 2.0; y = hessian({size}, x)") == pytest.approx(9 / 13**1.5)
    assert value(f"var x = 2.0; y = grad(hessian({size}, x), x)") == pytest.approx(-54 / 13**2.5)
    assert value("y = hessian(fn(x) = abs(x + 1j * x)**3)(0.0)") == 0.0
    assert value("f = grad(fn(x) = abs(x + 3j)); y = jvp(f)(2.0, 1.0)") == pytest.approx(
        9 / 13**1.5
    )
    assert failure("var x = 2.0; y = grad(real(sign(x + 1j * 3.0)), x)").code == "E317"
    assert value("var x = -2.0; y = hessian(abs(x) * x, x)") == -2.0


# ---- transforms and what is recorded around them -------------------------------------------------


def test_what_follows_a_transform_is_recorded_as_if_it_were_not_there() -> None:
    source = "fn f(x) = x**3 + x\nvar w = 2.0\ng = grad(f)(3.0)\noutput y = w**2*g"
    assert evaluate(source).gradients == {"y": {"w": 112.0}}


def test_the_vector_of_a_transform_may_depend_on_a_variable() -> None:
    assert value("fn f(x) = x**2\nvar u = 2.0\nd = vjp(f)(3.0, u)\noutput grad(d, u)") == 6.0


@pytest.mark.parametrize(("op", "item"), [("stack", "x * i"), ("concatenate", "[x * i, x]")])
def test_many_operands_get_their_cotangents_at_once(op: str, item: str) -> None:
    """One by one, each would take as long as there are operands."""
    asked: list[int] = []
    rule = OPS[op].vjp
    assert isinstance(rule, OfSeveral)

    def counting(m: Any, g: Any, y: Any, places: list[int], *operands: Any, **options: Any) -> Any:
        asked.append(len(places))
        return rule.several(m, g, y, places, *operands, **options)

    source = f"var x = 2.0; y = sum({op}([{item} for i in range(300)]) ** 2); output g = grad(y, x)"
    with only(INTERPRETED), replaced(op, vjp=OfSeveral(counting)):
        found = value(source)
    assert 300 in asked
    assert found == 2 * 2.0 * (sum(i * i for i in range(300)) + (300 if op == "concatenate" else 0))
