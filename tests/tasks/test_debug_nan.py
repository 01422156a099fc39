"""`--debug-nan`: the first operation that makes what isn't finite, with its line and a formula that
is finite there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.diagnostics import Diagnostic, GradcliError
from gradcli.tasks.rewritings import LOSSY, REWRITINGS


def finding(source: str, **options: Any) -> Diagnostic | None:
    """The finding about a program; None where there is none."""
    try:
        gradcli.load(source=source).with_options(debug_nan=True, **options).run()
    except GradcliError as error:
        (found,) = error.diagnostics
        assert found.code == "E324"
        return found
    return None


# A program, the line at fault, and what the message or the fix says.
CASES = [
    ("var x = -1.0\nb = x * 2\ny = log(b) * 3\nz = y + 1", 3, "`log(b)` is nan (`log` of -2.0)"),
    ("var x = 0.0\na = 1 / x\nb = a - a\ny = b * 2", 2, "`1 / x` is inf (`1 / 0.0`)"),
    ("var x = 0.0\nvar z = 0.0\ny = x / z", 3, "where(b != 0, a / b, 0)"),
    ("var x = 800.0\ny = exp(x) * 2", 2, "709"),
    ("var x = 0.0\ny = 3 * sqrt(x)", 2, "the derivative of `sqrt(x)` at 0.0 is inf"),
    ("var x = [1.0, 0.0]\ny = sum(sqrt(x))", 2, "at 0.0 is inf"),
    ("var x = [4.0, -1.0, 1.0]\ny = sum(x**0.5)", 2, "at [1]"),
    ("var x = [[1.0, 2.0], [3.0, -4.0]]\ny = sum(log(x * [[1.0, 1.0], [1.0, 1.0]]))", 2,
        "at [1, 1]"),
    ("var x = 1.0\nfor i in range(20) { x := x * 1e30 }\ny = x * 2", 2, "is inf"),
    ("var w = 1.0\nfor i in range(400) { w :-= 1.0 * grad((w * 3 - 2)**2, w) }\ny = w * 2", 2,
        "smaller steps"),
    ("var x = 2.0\nfn f(a) {\n    b = a - 2\n    return 1 / b\n}\ny = f(x)", 4, "1 / 0.0"),
    ("var x = 1.0\na = log(0.0)\nb = a * 2\ny = x + b", 2, "`log(0.0)` is -inf (`log` of 0.0)"),
    ("y = 1.0 / 0.0", 1, "`1.0 / 0.0` is inf"),
    ("var x = 1.0\na = 1.0 / array([0.0, 1.0])\ny = sum(a) * x", 2, "at [0]"),
    ("var x = nan\ny = x * 2", 1, "is nan to begin with"),
    ("var x = 1.0\ny = x * inf", 2, "isn't finite to begin with"),
    ("var x = 0.0\ng = grad(sqrt(x), x)\ny = g * 2", 2, "the derivative of `sqrt(x)` gives inf"),
    ("var x = [1.0, 2.0]\ny = [x[0], log(x[1] - 2)]", 2, "`log(x[1] - 2)` is -inf (`log` of 0.0)"),
    ("var x = 1.0\nfn f(a) { return sqrt(a) } backward (dy) { return dy / (a - 1) }\ny = f(x)", 3,
        "of `f(x)` at 1.0 is inf"),
    ("var x = 1.5\ny = acos(x) + x", 2, "domain"),
    ("fn f(a) {\n    b = log(a)\n    return b * 2\n} backward (dy) { return dy }\nvar x = -1.0\ny = f(x)", 2, "`log` of -1.0"),
    ("opaque fn f(a) {\n    return [a, 1 / (a - 2)]\n}\nconst x = 2.0\ny = f(x)[1]", 2,
        "`1 / (a - 2)` is inf (`1 / 0.0`)"),
    ("var w = 0.0\nfn f(a) = log(w * a)\ny = sum(vmap(f)([1.0, 2.0]))", 2,
        "`log(w * a)` is -inf in some rows (`log` of 0.0)"),
    ("var x = 1.0\ny = sum(reshape([x, x / 0.0, x, x], [2, 2])[0])", 2, "`1.0 / 0.0`"),
    ("var x = [1.0, 0.0]\na = log(x)\nb = a[0] + 1\ny = a[1] * b", 2, "at [1]"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "line", "says"), CASES)
def test_finding(source: str, line: int, says: str) -> None:
    found = finding(source)
    assert found is not None
    assert found.span is not None
    assert (found.span.line, found.reason != "") == (line, True)
    assert says in f"{found.message} {found.help}"


# What isn't finite because of `p`, which is 0, in the ways of writing an operation, and how it is
# quoted.
QUOTED = [
    ("y = xlogy(p, p)", "the derivative of `xlogy(p, p)` at 0.0 and 0.0 is -inf,"),
    ("y = p.sqrt()", "the derivative of `p.sqrt()` at 0.0 is inf,"),
    ("y = p**0.5", "the derivative of `p**0.5` at 0.0 and 0.5 is inf,"),
    ("y = -(p / p)", "`p / p` is nan (`0.0 / 0.0`),"),
    ("y = (p) / (p) + 1", "`(p) / (p)` is nan (`0.0 / 0.0`),"),
    ("y = 1 / p", "`1 / p` is inf (`1 / 0.0`),"),
    ("y = 1.0\ny /= p", "`y /= p` is inf (`1.0 / 0.0`),"),
    ("y = 1 / 0.0 * (p + 1)", "`1 / 0.0` is inf,"),
    ("y = log(\n    p,\n)", "`log( p, )` is -inf (`log` of 0.0),"),
    ("fn f(a) = 1 / a\ny = f(p)", "`1 / a` is inf (`1 / 0.0`),"),
    ("fn f(a) { return a**2 } backward (dy) { return dy / a }\ny = f(p)",
        "the derivative of `f(p)` at 0.0 is inf,"),
    ("y = grad(fn(u) = sqrt(u))(p)", "the derivative of `sqrt(u)` gives inf,"),
    ("y = softmax([inf, p])[0]", "in `softmax([inf, p])`, `stack` of inf and 0.0 is inf at [0]:"),
    ("import nn\nl = nn.LayerNorm(2, eps = 0.0)\ny = sum(l([p, p]))",
        "in `l([p, p])`, `0.0 / 0.0` is nan at [0],"),
    ("import nn\ny = nn.mae([1e308, p], -1e308)",
        "in `nn.mae([1e308, p], -1e308)`, `1e+308 - (-1e+308)` is inf at [0],"),
    (f"y = sqrt(p{' + p' * 13})", f"`sqrt(p{' + p' * 13})` at"),
    (f"y = sqrt(p{' + p' * 14})", f"`sqrt(p{' + p' * 13} …` at"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "says"), QUOTED)
def test_the_words_of_the_program_are_quoted(source: str, says: str) -> None:
    found = finding(f"var p = 0.0\n{source}")
    assert found is not None
    assert says in found.message


@pytest.mark.parametrize(
    "source",
    [
        "var x = [1.0, -1.0]\ny = sum(where(x > 0, log(x), 0.0))",
        "var x = [4.0, 0.0]\ny = sum(where(x > 0, sqrt(x), 0.0))",
        "var x = [1.0, -1.0]\na = log(x)\ny = a[0] * 2",
        "var x = 0.0\ny = exp(-1 / x**2)",
        "var x = 2.0\nm = -inf\nfor v in [1.0, 3.0] { m = maximum(m, v * x) }\ny = m",
        "var x = 1.0\na = 1.0 / 0.0\ny = x * 2",
        "var x = 1.0\ny = x\noutput y",
    ],
)
def test_what_reaches_no_answer_is_no_finding(source: str) -> None:
    assert finding(source) is None


def test_discarded_values_are_not_blamed_for_others() -> None:
    found = finding(
        "var x = [4.0, -1.0]\na = sqrt(x)\nb = log(x - 4)\ny = sum(where(x > 0, a, 0.0)) + b[0]"
    )
    assert found is not None
    assert (found.span and found.span.line, "`log` of 0.0" in found.message) == (3, True)


def test_the_earliest_operation_comes_first() -> None:
    found = finding("var x = 0.0\na = sqrt(x)\nb = log(x)\noutput a, b")
    assert found is not None
    assert found.span is not None
    assert found.span.line == 3  # forwards comes before the way back, which has the slope of line 2


def test_second_derivatives_and_jacobians_count() -> None:
    found = finding("var x = 0.0\ny = x**1.5", hessian=True)
    assert found is not None
    assert "∂²y/∂x²" in found.message
    found = finding("var x = [1.0, 0.0]\ny = sqrt(x) * [1.0, 1.0]", grad=False, jacobian=True)
    assert found is not None
    assert "the derivative of `sqrt(x)` at 0.0 is inf" in found.message


def test_the_call_that_led_there_is_told() -> None:
    found = finding("var x = 0.0\nfn f(a) = 1 / a\ny = f(x) + 1")
    assert found is not None
    assert [(call.function, call.span.line) for call in found.calls] == [("f", 3)]


# ---- rewritings ----------------------------------------------------------------------------------

# A program whose formula isn't finite, and what to write instead.
WRITTEN = [
    ("var x = [800.0, 1.0]\ny = log(sum(exp(x)))",
        "write `logsumexp(x)` instead of `log(sum(exp(x)))`"),
    ("var v = [800.0, 1.0]\na = exp(v * 2)\ns = sum(a)\ny = log(s)", "write `logsumexp(v * 2)`"),
    ("var x = [0.0, -800.0]\np = softmax(x)\ny = sum(log(p))",
        "write `log_softmax(x)` instead of `log(softmax(x))`"),
    ("var x = [800.0, 1.0]\ny = sum(exp(x) / sum(exp(x)) * [1.0, 2.0])", "write `softmax(x)`"),
    ("var x = 800.0\ny = log(exp(x) + 1)", "write `softplus(x)`"),
    ("var x = 40.0\ny = log(1 - sigmoid(x))", "write `-softplus(x)`"),
    ("var x = -800.0\ny = log(sigmoid(x))", "write `-softplus(-x)`"),
    ("var x = [1e200, 1e200]\ny = sqrt(sum(x**2))", "write `norm(x)`"),
    ("var x = [1e200, 1e200]\ny = sqrt(sum(x * x))", "write `norm(x)`"),
    ("var x = [1e200, 1e200]\ny = sqrt(sum(square(x)))", "write `norm(x)`"),
    ("var x = [1e200, 1e200]\ny = sqrt(x[0]**2 + x[1]**2)", "write `hypot(x[0], x[1])`"),
    ("var x = [0.0, 0.0]\ny = x / norm(x)", "write `where(norm(x) > 0, x / norm(x), 0)`"),
    ("var p = [0.0, 1.0]\ny = -sum(p * log(p))", "write `xlogy(p, p)`"),
    ("var x = 1e-20\ny = x / (exp(x) - 1)", "write `expm1(x)` instead of `exp(x) - 1`"),
    ("var x = 1e-20\ny = x / log(1 + x)", "write `log1p(x)` instead of `log(1 + x)`"),
    ("var x = -1.0\ny = log(1 + x)", "`log1p(x)` is better than `log(1 + x)`"),
    ("var x = [1e200, 1.0]\ny = norm(x)**2", "`sum(x**2)` is better than `norm(x)**2`"),
    ("var x = 200.0\ny = log(gamma(x))", "write `lgamma(x)`"),
    ("var x = [1e200, 1e200]\ny = log(prod(x))", "write `sum(log(x))`"),
    ("var x = 0.0\ny = sin(x) / x", "write `sinc(x / pi)`"),
    ("var a = 800.0\nvar b = 1.0\ny = log(exp(a) + exp(b))", "write `logaddexp(a, b)`"),
    ("var x = 800.0\ny = log(cosh(x))", "write `logaddexp(x, -x) - log(2)`"),
    ("var x = -8.0\ny = x**(1 / 3)", "write `cbrt(x)`"),
    ("fn f(t) = log(sum(exp(t)))\nvar x = [900.0, 2.0]\ny = f(x + 1)", "write `logsumexp(x + 1)`"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "says"), WRITTEN)
def test_what_to_write_instead(source: str, says: str) -> None:
    found = finding(source)
    assert found is not None
    assert says in found.help


@pytest.mark.parametrize(
    "source", ["var x = -2.0\nvar z = 0.5\ny = z * log(x)", "var x = 800.0\ny = exp(x) - 1"]
)
def test_what_would_not_help_is_not_suggested(source: str) -> None:
    found = finding(source)
    assert found is not None
    assert "write" not in found.help
    assert "better" not in found.help


@pytest.mark.parametrize(("formula", "better"), [*REWRITINGS.items(), *LOSSY.items()])
def test_a_rewriting_means_the_same(formula: str, better: str) -> None:
    matrix = "det(" in formula or "inv(" in formula
    array = matrix or any(f"{name}(" in formula for name in ("sum", "softmax", "norm", "prod"))
    inputs = {
        "x": [[2.0, 0.5], [0.25, 1.5]] if matrix else [0.3, 0.6] if array else 0.4,
        "y": [0.7, 0.2] if matrix else 0.7,
    }
    values = []
    for text in (formula, better):
        program = gradcli.load(source=text)
        used = {name: value for name, value in inputs.items() if name in program._resolved.names}
        values.append(program.run(used).outputs["result"])
    np.testing.assert_allclose(*values, rtol=1e-12)
