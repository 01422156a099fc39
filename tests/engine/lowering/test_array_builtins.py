"""Builtins on arrays in regions: what they move, make and reduce is what the interpreter gives, of
few elements and of many, with gradients."""

from __future__ import annotations

import re
from math import exp

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, WRITTEN, only
from gradcli.engine.ir.instructions import Structural

from ..kernels.hot_and_cold import assert_same, run_again
from .region_cases import lowered

VARIABLES = {
    "a": "[1.0, 2.0, 3.0, -1.0, 0.5, 4.0]",
    "m": "reshape(arange(12) * 0.5, [3, 4])",
    "u": "arange(40) * 0.1",
    "w": "reshape(arange(60) * 0.1, [5, 12])",
    "s": "0.7",
}
MOVED = [
    "flip(a)", "flip(u)", "flip(w, axis = 0)", "roll(a, 2)", "roll(u, 3)", "roll(u, -1)", "roll(w, 1, axis = 1)",
    "roll(w, [1, 2], axis = [0, 1])", "diag(w[:, :5])", "tile(a, 2)", "tile(u, 3)", "tile(m, [2, 3])", "repeat(a, 2)",
    "repeat(m, 2, axis = 1)", "squeeze(reshape(a, [1, 6]))", "expand_dims(a, 0)", "expand_dims(u, 1) * u",
    "swapaxes(w, 0, 1)", "moveaxis(w, 0, 1)", "broadcast_to(a, [3, 6])", "broadcast_to(u, [2, 40])", "pad(a, 1)",
    "pad(u, [2, 3])", "pad(w, 1)", "split(u, 4)[1]", "split(a, 2)[0]", "concatenate([u, a])", "concatenate([w, w * s])",
    "tril(m[:3] * 2)", "triu(m, k = 1)", "roll(u, 1) - 2 * u + roll(u, -1)",
]  # fmt: skip
MADE = [
    "linspace(s, 2.0, 5)", "linspace(0.0, 1.0, 50) * s", "linspace(s, a[0], 30)", "linspace(s, s, 4)", "linspace(s, 1)",
    "linspace(s, 2, 1)", "arange(30) * s", "arange(2, 50, 3) * s", "eye(3) * s", "eye(9) * s", "outer(a[:4], u)",
]  # fmt: skip
REDUCED = [
    "var(a)", "var(u)", "var(a, ddof = 1)", "std(u)", "std(a)", "std(m, axis = 1)", "var(m, axis = 0)", "var(w)",
    "count_nonzero(a) * s", "count_nonzero(u) * s", "count_nonzero(m, axis = 1) * s", "argmax(a) * s", "argmin(a) * s",
    "a[argmax(a)]", "detach(a) * a", "detach(u) * u", "stop_gradient(s) * s", "detach(int64(s)) * s",
    "m - max(m, axis = 1, keepdims = true)", "w - max(w, axis = 1, keepdims = true)", "w * mean(w, axis = 0, keepdims = true)",
    "m * sum(m, keepdims = true)", "(m - mean(m, axis = 0, keepdims = true)) / std(m, axis = 0, keepdims = true)",
    "sum(s) + mean(s * 2)", "softmax(m, axis = 1)", "log_softmax(m) * softmax(m, axis = 0)", "m - logsumexp(m, axis = 1, keepdims = true)",
    "sum(reshape(a, [1, 2, 3]), axis = 1)", "max(reshape(m, [2, 3, 2]), axis = 2)", "sum(reshape(arange(16) * s, [2, 8]), axis = 1)",
    "prod(a)", "prod(a * [1, 0, 1, 0, 1, 1])", "prod(m + 1, axis = 0)", "prod(m, axis = 1, keepdims = true)", "prod([2, 3]) * prod([s, s])",
    "prod(s) * prod(a > 0)", "cumprod(a)", "cumprod(a * 0) * s", "cumprod([2, 3, 4]) * s",
    "trace(m)", "trace(w * s)", "trace(m, offset = 1)", "trace(m[:3, :3] @ m[:3, 1:], offset = -1)",
    "norm(reshape(arange(16) * s, [8, 2]), axis = 0)", "any(reshape(m, [2, 3, 2]) > 1, axis = 1) * s",
]  # fmt: skip
PRODUCTS = [
    "cross(a[:3], a[3:])", "cross(a[:3], [1, 2, 3]) * s", "cross([1, 2, 3], [0, 1, 4]) * s", "cross([s, 2, s], m[0, 1:])",
    "cross(u[:3], w[0, 2:5])", "inner(a, a * s)", "inner(a, [1, 2, 3, 4, 5, 6])", "inner(u, u)", "inner(m, m[1])", "inner(w, w)",
]  # fmt: skip
BY_THE_INTERPRETER = [
    "cross(reshape(a, [2, 3]), a[:3])", "prod(u + 1)", "prod(reshape(u, [4, 10]), axis = 0)", "cumprod(u)", "cumprod(m, axis = 1)",
    "inner(reshape(u, [2, 4, 5]), a[:5])", "trace(reshape(u, [4, 2, 5])) * s", "trace(m, offset = 9) * s",
    "u[argmax(w) - 30]", "diag(u)", "pad(a, 1, value = 2.0)", "pad(a, [1, 2], value = s)", "var(w, axis = 1)", "argmax(w, axis = 1) * s",
    "cumsum(w, axis = 1)", "any(w) * s", "norm(u, ord = 3)", "stack([a, a * s], axis = 1)", "transpose(reshape(u, [2, 4, 5]))",
]  # fmt: skip
REASONS = {
    "prod(a[6:])": "`prod` of an array without elements is not compiled",
    "stack(a, s)": "the rows of a list differ in length",
}


def program(expression: str) -> str:
    used = [f"var {k} = {v}" for k, v in VARIABLES.items() if re.search(rf"\b{k}\b", expression)]
    return "\n".join([*used, f"z = {expression}", "output sum(z * z * 0.5) + sum(sin(z)), z\n"])


@pytest.mark.parametrize("tier", [WRITTEN, NATIVE])
@pytest.mark.parametrize("expression", [*MOVED, *MADE, *REDUCED, *PRODUCTS, *BY_THE_INTERPRETER])
def test_builtins(expression: str, tier: int, answered: list[bool]) -> None:
    with only(INTERPRETED):
        expected = run_again(program(expression))
    with only(tier, FIRST_USE):
        assert_same(run_again(program(expression)), expected)
    assert answered[-1:] == [True]


@pytest.mark.parametrize("expression", PRODUCTS)
def test_products_call_nothing(expression: str) -> None:
    made = lowered(program(expression)).region.block.instructions
    assert not any(isinstance(each, Structural) for each in made)


@pytest.mark.parametrize(("expression", "reason"), REASONS.items())
def test_what_is_not_compiled_says_why(expression: str, reason: str) -> None:
    assert [each.reason for each in lowered(program(expression)).reasons] == [reason]


@pytest.mark.parametrize("tier", [INTERPRETED, WRITTEN, NATIVE])
@pytest.mark.parametrize("array", ["x", "concatenate([x, zeros(30) - 40])"])
def test_a_weight_that_is_almost_one_has_accurate_derivatives(tier: int, array: str) -> None:
    """The slope of the largest weight is its difference from 1, of which 1 itself shows nothing."""
    source = (
        f"fn f(x) = softmax({array})[0]\nvar x = [40.0, 0.0]\n"
        "output y = f(x)\noutput g = grad(f)(x)\noutput t = jvp(f)(x, [1.0, 0.0])\n"
        "output h = grad(fn(x) = grad(f)(x)[0])(x)"
    )
    small = exp(-40.0) + (30 * exp(-80.0) if "30" in array else 0.0)
    with only(tier, FIRST_USE):
        outputs, gradients = run_again(source)
    assert outputs["t"] == pytest.approx(small, rel=1e-12, abs=0)
    for slope in (outputs["g"], gradients["y"]["x"], -outputs["h"]):
        assert slope == pytest.approx([small, -exp(-40.0)], rel=1e-12, abs=0)
