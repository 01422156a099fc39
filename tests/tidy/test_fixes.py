"""A fix keeps values and gradients, and leaves nothing of the same kind to fix."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import Source
from gradcli.tidy.linting import apply_fixes, find

_PRELUDE = "var x = [0.3, -0.7, 1.9]\nvar s = 0.4\nfn g(a) = a * 1.5\n"

# Formulas about a vector `E`, and those about a number `S`.
_OF_VECTORS = [
    "norm(E)**2",
    "3 / norm(E)**2",
    "-norm(E)**2 * s",
    "s**norm(E)**2",
    "sum(norm(E, axis = 0)**2)",
    "sqrt(sum(E**2))",
    "2 * sqrt(sum((E)**2, axis = 0)) - 1",
    "sum(norm(E * outer(E, E), axis = 1, keepdims = true)**2)",
    "sqrt(sum(x * x))",
    "norm(E)**2 if norm(E)**2 > 0.1 else (norm(E)**2)if s > 0 else 1.0",
]
_OF_NUMBERS = [
    "log(1 + S)",
    "log(S + 1.0)",
    "log(1 - S / 9)",
    "log(1 + S - s / 10 + 0.5)",
    "log(2 * S + s + 1)",
    "exp(S) - 1",
    "exp(S) - 1 + S * s - 3",
    "(exp(S) - 1) / S",
    "1 - exp(S) + s",
    "s - (1 - exp(-S)) * 2",
    "log(1 + exp(exp(S) - 1))",
    "exp(log(1 + S)) - 1",
    "sum([log(1 + S), exp(S) - 1]) if exp(S) - 1 > 0 else (exp(S) - 1)",
]
_VECTORS = ["x", "(2 * x + 1)", "sin(x)", "(x - s)", "x[:2]", "[s, 2.0 * s]", "(-x)"]
_NUMBERS = ["s", "s**2", "sin(s)", "2 * s", "(s + 0.1)", "g(s)", "x[0]", "-s", "s * s / 3"]
_FORMULAS = [
    *[formula.replace("E", operand) for formula, operand in product(_OF_VECTORS, _VECTORS)],
    *[formula.replace("S", operand) for formula, operand in product(_OF_NUMBERS, _NUMBERS)],
]


def fixed(text: str) -> str:
    source = Source("<expr>", text)
    for _ in range(10):
        fixes = [finding.fix for finding in find(source) if finding.fix]
        if not fixes:
            break
        source, _ = apply_fixes(source, fixes)
    return source.text


def answers(text: str) -> list[Any]:
    result = gradcli.load(source=text).run()
    gradients = result.gradients["y"]
    return [result.outputs["y"], gradients["x"], gradients["s"]]


@pytest.mark.parametrize("formula", _FORMULAS)
def test_fixes_keep_values_and_gradients(formula: str) -> None:
    text = f"{_PRELUDE}y = {formula}\noutput y\n"
    after = fixed(text)
    assert after != text
    for old, new in zip(answers(text), answers(after), strict=True):
        assert (old is None) == (new is None)
        if old is not None:
            np.testing.assert_allclose(new, old, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "fn f(x) = norm(x)**2\noutput f([1, 2])",  # a sum of ints would be an int
        "x = [1, 2]\noutput norm(x)**2",
        "var z = [1.0 + 2j]\noutput abs(sum(z)) + norm(z)**2 + sqrt(sum(z**2))",
        "var z\noutput sqrt(sum(z**2))",  # it may be complex
        "sqrt(sum(x**2))",
        "fn log1p(x) = x\noutput log(1 + 2.0) + log1p(1.0)",  # another function
        "fn sum(x) = x\nvar x = [1.0]\noutput norm(x)**2 + sum(x)",
        "norm = 3.0\nvar x = [1.0]\noutput sqrt(sum(x**2)) + norm",
        "var x = 1.0\noutput y = log(1 + # why\n x)",  # the comment would be lost
        "var x = 1.0\noutput x, log(1 + x)",  # the output would be called otherwise
    ],
)
def test_what_may_not_mean_the_same_has_no_fix(text: str) -> None:
    findings = find(Source("<expr>", text))
    assert {finding.diagnostic.code for finding in findings} & {"W411", "W412", "W414"}
    assert [finding.fix for finding in findings if finding.fix] == []


def test_fixes_hold_for_complex_numbers() -> None:
    text = "var z = 0.3 + 0.2j\ny = abs(log(1 + z)) + abs(exp(z) - 1)\noutput y\n"
    after = fixed(text)
    assert "log1p(z)" in after
    assert "expm1(z)" in after
    old, new = gradcli.load(source=text).run(), gradcli.load(source=after).run()
    np.testing.assert_allclose(new.outputs["y"], old.outputs["y"], rtol=1e-14)
    np.testing.assert_allclose(new.gradients["y"]["z"], old.gradients["y"]["z"], rtol=1e-12)


def test_a_fix_gives_the_norm_its_gradient_at_zero() -> None:
    text = "var x = [0.0, 0.0]\nvar s = 1.0\ny = s * sqrt(sum(x**2))\noutput y\n"
    assert "norm(x)" in fixed(text)
    assert gradcli.load(source=fixed(text)).run().gradients["y"]["x"].tolist() == [0.0, 0.0]
