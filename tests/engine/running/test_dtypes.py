"""Which dtype comes out: NEP 50's promotion, float32 runs, ints that stay ints."""

from __future__ import annotations

import numpy as np
import pytest

from ..programs import evaluate, outputs

VALUES = {
    "true": True, "3": 3, "1.5": 1.5, "2j": 2j,
    "array([true, false])": np.array([True, False]), "array([1, 2])": np.array([1, 2]),
    "array([1.0, 2.0])": np.array([1.0, 2.0]),
    "array([1j, 2.0])": np.array([1j, 2.0]), "float32([1.0, 2.0])": np.array([1, 2], "f"),
    "float32(1.5)": np.float32(1.5),
}  # fmt: skip


@pytest.mark.parametrize("b", VALUES)
@pytest.mark.parametrize("a", VALUES)
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "**"])
def test_promotion_is_numpys(op: str, a: str, b: str) -> None:
    x, y = VALUES[a], VALUES[b]
    booleans = [np.asarray(v).dtype == bool for v in (x, y)]
    if all(booleans):  # arithmetic on bools is on ints here
        x, y = np.asarray(x, int)[()], np.asarray(y, int)[()]
    found = outputs(f"y = {a} {op} {b}")["y"]
    with np.errstate(all="ignore"):
        expected = {
            "+": lambda: x + y,
            "-": lambda: x - y,
            "*": lambda: x * y,
            "/": lambda: x / y,
            "**": lambda: x**y,
        }[op]()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    if not any(booleans):
        expected_dtype = np.asarray(expected).dtype
        # The language has one complex type.
        assert np.asarray(found).dtype == (
            complex if expected_dtype == np.complex64 and not np.ndim(found) else expected_dtype
        )


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("sum(array([1, 2]))", "int64"),
        ("sum(array([true, true]))", "int64"),
        ("mean(array([1, 2]))", "float64"),
        ("cumsum(array([1, 2]))", "int64"),
        ("max(array([1, 2]))", "int64"),
        ("arange(3)", "int64"),
        ("arange(3.0)", "float64"),
        ("zeros(2)", "float64"),
        ("array([1, 2]) > 1", "bool"),
        ("array([1, 2]) @ array([3, 4])", "int64"),
        ("sqrt(4)", "float64"),
        ("abs(-3)", "int64"),
        ("abs(3 + 4j)", "float64"),
        ("real(1j)", "float64"),
        ("floor(2.5)", "float64"),
        ("int64(2.7)", "int64"),
        ("float32(2)", "float32"),
        ('cast(2, "complex128")', "complex128"),
        ("where(true, 1, 2.5)", "float64"),
        ("minimum(1, 2)", "int64"),
        ("argmax([1.0, 2.0])", "int64"),
        ("true + true", "int64"),
        ("-true", "int64"),
        ("stack([[1, 2], [3.0, 4.0]])", "float64"),
        ("sum(float32([1.0, 2.0]))", "float32"),
        ("sin(float32(1.0)) * 2", "float32"),
        ("float32([1.0]) + 1.0", "float32"),
        ("float32([1.0]) + array([1.0])", "float64"),
    ],
)
def test_dtype(expression: str, dtype: str) -> None:
    assert outputs(f"y = ({expression}).dtype") == {"y": dtype}


@pytest.mark.parametrize(
    "expression",
    [
        "0.1", "0.1 + 1", "x", "x * 2", "sin(x)", "zeros(2)", "linspace(0, 1, 3)", "[0.1, 0.2] * 2",
        "normal([2])", "3 / 2", "pi",
        "x**2", "1 if x > 0 else 0.5", "sqrt(2)", "2**-1", "softmax([1.0, 2.0])",
        "mean(array([1, 2]))",
    ],
)  # fmt: skip
def test_a_float32_run_has_no_float64(expression: str) -> None:
    found = outputs(f"var x = 0.5\ny = {expression}\noutput y", dtype="float32")["y"]
    assert np.asarray(found).dtype == (np.int64 if expression.startswith("1 if") else np.float32)


def test_gradients_of_a_float32_run() -> None:
    source = """
        var x = 0.5
        var v = [1.0, 2.0, 3.0]
        a = zeros(3)
        for i in range(3) { a[i] = v[i] * sin(x) }
        y = sum(a**2) + logsumexp(v)
        g = grad(y, {x: x, v: v})
        h = hessian(y, v)
        output y, g, h
        """
    wide, narrow = (evaluate(source, dtype=dtype) for dtype in ("float64", "float32"))
    for found, exact in [
        (narrow.outputs["y"], wide.outputs["y"]),
        (narrow.outputs["g"]["x"], wide.outputs["g"]["x"]),
        (narrow.outputs["g"]["v"], wide.outputs["g"]["v"]),
        (narrow.outputs["h"], wide.outputs["h"]),
        (narrow.gradients["y"]["x"], wide.gradients["y"]["x"]),
        (narrow.gradients["y"]["v"], wide.gradients["y"]["v"]),
    ]:  # fmt: skip
        assert np.asarray(found).dtype == np.float32
        np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_a_cotangent_has_its_sources_dtype() -> None:
    source = "var a = 2.0; var b: float32[...] = [1.0, 2.0]; y = sum(a * b * [1.0, 2.0])"
    found = evaluate(f"{source}; g = grad(y, [a, b]); output y, g")
    for gradients in (found.outputs["g"], list(found.gradients["y"].values())):
        assert [np.asarray(g).dtype.name for g in gradients] == ["float64", "float32"]


def test_ieee_results_are_values_and_no_warnings() -> None:
    found = outputs(
        "a = [1.0, 0.0] / 0.0; b = log(zeros(2)); c = exp(array([1000.0])); d = sqrt(-1.0); output a, b, c, d"
    )
    np.testing.assert_array_equal(found["a"], [np.inf, np.nan])
    np.testing.assert_array_equal(found["b"], [-np.inf, -np.inf])
    assert found["c"][0] == np.inf
    assert np.isnan(found["d"])
