"""Convolutions, transforms and interpolation: values, and what programs see of them. Their rules:
test_structural.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..engine.programs import failure, outputs, value
from .structural_cases import IMAGES, KERNELS, KNOTS, W
from .sweeps import Session


def call(name: str, *operands: Any, **options: Any) -> Any:
    return Session().m.call(name, operands, options).v


@pytest.mark.parametrize(
    ("stride", "padding"), [(1, 0), (2, 0), (1, 1), ([1, 3], [2, 0]), (3, [0, 1])]
)
def test_conv_is_the_sum_over_each_place(stride: Any, padding: Any) -> None:
    (s, t), (p, q) = (v if isinstance(v, list) else [v, v] for v in (stride, padding))
    padded = np.pad(IMAGES, ((0, 0), (0, 0), (p, p), (q, q)))
    o, _, h, w = KERNELS.shape
    rows, columns = (padded.shape[2] - h) // s + 1, (padded.shape[3] - w) // t + 1
    expected = np.empty((len(IMAGES), o, rows, columns))
    for n, k, i, j in np.ndindex(expected.shape):
        expected[n, k, i, j] = np.sum(
            padded[n, :, i * s : i * s + h, j * t : j * t + w] * KERNELS[k]
        )
    np.testing.assert_allclose(
        call("conv", IMAGES, KERNELS, stride=stride, padding=padding),
        expected,
        rtol=1e-13,
        atol=1e-14,
    )


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_gradients_of_vectors_of_any_lengths(name: str, mode: str) -> None:
    """y is linear in each operand: with the gradients by both, <g, y(a, v)> is <grad_a, a> and
    <grad_v, v>."""
    random = np.random.default_rng(4)
    for n in range(1, 6):
        for k in range(1, 6):
            a, v = random.normal(size=n), random.normal(size=k)
            expected = getattr(np, name)(a, v, mode)
            g = random.normal(size=expected.shape)
            session = Session(a, v)
            y = session.m.call(name, tuple(session.operands), {"mode": mode})
            np.testing.assert_allclose(y.v[0], expected, rtol=1e-14)
            by_a, by_v = session.gradients(session.m.sum(y * g))
            assert np.sum(by_a * a) == pytest.approx(np.sum(g * expected), rel=1e-12)
            assert np.sum(by_v * v) == pytest.approx(np.sum(g * expected), rel=1e-12)
            assert (by_a.shape, by_v.shape) == (a.shape, v.shape)


def test_transforms_are_each_others_inverses() -> None:
    found = outputs(
        "x = [1.0, -2.0, 0.5, 3.0, 1.5]; z = x + 2j; a = ifft(fft(z)); b = irfft(rfft(x), n = 5); c = rfft(x); output a, b, c"
    )
    np.testing.assert_allclose(found["a"], np.array([1.0, -2.0, 0.5, 3.0, 1.5]) + 2j, rtol=1e-14)
    np.testing.assert_allclose(found["b"], [1.0, -2.0, 0.5, 3.0, 1.5], rtol=1e-14)
    np.testing.assert_array_equal(found["c"], np.fft.rfft([1.0, -2.0, 0.5, 3.0, 1.5]))


def test_the_gradient_of_a_power_spectrum() -> None:
    """By Parseval's theorem the power is n times the sum of the squares."""
    found = value("var x = [1.0, -2.0, 0.5]; y = grad(sum(abs(fft(x))**2), x)")
    np.testing.assert_allclose(found, [6.0, -12.0, 3.0], rtol=1e-14)


@pytest.mark.parametrize(
    "x", [0.25, -2.0, 1.4, 5.0, np.array([[-1.0, 0.35], [0.2, 1.3]]), np.nan, 1]
)
def test_interp_as_numpy(x: Any) -> None:
    np.testing.assert_array_equal(call("interp", x, KNOTS, W), np.interp(x, KNOTS, W))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("convolve([1, 2], [1, 1])", [1, 3, 2]),
        ("correlate([1, 2, 3], [0, 1])", [2, 3]),
        ("conv(array([[[[1, 2], [3, 4]]]]), array([[[[1, 0], [0, 1]]]]))", [[[[5]]]]),
        ("interp(1, [0, 2], [0, 5])", 2.5),
        ("grad(fn(f) = interp(0.5, [0.0, 2.0], f))([1.0, 5.0])", [0.75, 0.25]),
        ("grad(fn(p) = interp(0.5, p, [1.0, 5.0]))([0.0, 2.0])", [-1.5, -0.5]),
        ("grad(fn(f) = interp(9.0, [0.0, 2.0], f))([1.0, 5.0])", [0.0, 1.0]),
        ("grad(fn(p) = interp(9.0, p, [1.0, 5.0]))([0.0, 2.0])", [0.0, 0.0]),
        ("grad(fn(f) = interp(0.5, [1.0], f))([3.0])", [1.0]),
    ],
)
def test_value(expression: str, expected: Any) -> None:
    found = value(f"y = {expression}")
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_ints_overflow_as_everywhere() -> None:
    assert failure("y = convolve([4000000000, 1], [4000000000, 1])").code == "E305"


def test_float32_stays_float32() -> None:
    for source in (
        "convolve(x, x)",
        "conv(x.reshape(1, 1, 1, 2), x.reshape(1, 1, 1, 2))",
        "interp(x, x, x)",
        "irfft(rfft(x))",
    ):
        found = value(f"var x = float32([1.0, 2.0]); y = grad({source}, x)")
        assert found.dtype == "float32"
