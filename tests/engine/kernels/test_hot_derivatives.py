"""Derivatives in hot code are those of the interpreter: connected with the same names, and
floats."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, WRITTEN, only

from ..campaign.comparing import difference
from ..campaign.ways import alone, parsed

SOON = FIRST_USE._replace(iterations=2, least_iterations=2)
POINTS = [{"x": 0.8, "u": -2.5, "n": 3}, {"x": -1.3, "u": 0.5, "n": 2}]
HEATED = """var x = 1.0; var u = 1.0; frozen n: int64 = 2
fn capped(z) {{ if abs(z) > 1.5 {{ return 1.5 * sign(z) }}; return z }}
{functions}
fn row(x, u, n) {{
    t = {asked}
    return 0.0 if t == none else t
}}
y = row(x, u, n)
for i in range(3) {{ y = row(x, u, n) }}
output y
output half = y // 2
"""


def _verify(functions: str, asked: str, points: list[dict[str, float]] = POINTS) -> None:
    node = parsed(HEATED.format(functions=functions, asked=asked))
    with only(INTERPRETED):
        expected = alone(node, points)
    with only(WRITTEN, SOON):
        found = alone(node, points, 2)
    for a, b in zip(expected, found, strict=True):
        assert difference(a, b, exact=True, signs=False) == ""


@pytest.mark.parametrize(
    "step",
    ["sign(sqrt(abs(z)))", "z * floor(sin(z))", "floor(z)", "exp(sign(z))", "round(z * z) + u"],
)
@pytest.mark.parametrize(
    "asked", ["grad(grad(f))(x)", "jvp(f)(x, u)", "jvp(grad(f))(x, u)", "hvp(f)(x, u)"]
)
def test_a_slope_of_0_is_connected(step: str, asked: str) -> None:
    _verify(f"fn f(z) {{ s = {step}; return s }}", asked)


@pytest.mark.parametrize("function", ["z * z", "z**2 + 2.0 * z", "square(z)", "abs(z)", "relu(z)"])
@pytest.mark.parametrize(
    "asked",
    [
        "jvp(grad(f))(x, 3.0) * 2.0",
        "grad(grad(f))(x)",
        "vjp(grad(f))(x, u)",
        "grad(grad(grad(f)))(x)",
    ],
)
def test_a_constant_slope_is_connected(function: str, asked: str) -> None:
    _verify(f"fn f(z) = {function}", asked)


STEEP = ["s - s", "s * x0 - 2.0 * s", "s - s * z", "exp(s - s) * s", "z - 2.5 * s", "abs(s) - s"]


@pytest.mark.parametrize("step", [*STEEP, "where(z > 0, 0.0 * s, s - 2.0 * s)", "s / (1 + s) - s"])
@pytest.mark.parametrize(
    "asked",
    [
        "f(x)",
        "f(f(x))",
        "grad(f)(x)",
        "grad(fn(z) = f(f(z)))(x)",
        "jvp(f)(x, 1.0)",
        "jvp(f)(x, u)",
        "tanh(jvp(fn(z) = f(z) + z)(x, 1.0))",
        "vjp(f)(x, 0.0)",
        "jvp(fn(z) = f(-z))(x, 0.0)",
    ],
)
def test_infinite_slopes_add_up_alike(step: str, asked: str) -> None:
    """Whether what is infinite cancels is decided by the order of sums and products."""
    functions = f"x0 = 2.0\nfn f(z) {{ s = cbrt(z); return {step} }}"
    _verify(functions, asked, [{"x": 0.0, "u": 2.0, "n": 3}, {"x": -0.0, "u": -1.5, "n": 2}])


@pytest.mark.parametrize(
    "function", ["2 * z", "z + 1", "z * (2 if z > 0 else 3)", "where(z > 0, 2, 3) * z", "z * n"]
)
@pytest.mark.parametrize(
    "asked",
    [
        "grad(f)(x) // 2",
        "jvp(f)(x, 3) // 2",
        "vjp(f)(x, u = 3) // 2",
        "grad(capped)(grad(f)(x))",
        "grad(capped)(jvp(f)(x, 2))",
    ],
)
def test_a_derivative_is_a_float(function: str, asked: str) -> None:
    _verify(f"fn f(z) = {function}", asked)
