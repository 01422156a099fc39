"""`check` proves the derivatives that a program asks for itself to the order asked: a function's
own rule that gives the right numbers may have the wrong derivative."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.results import Check, CheckOptions
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

RIGHT = "fn h(x) { return x**3 } backward (dy) { return 3*x**2*dy }\n"
# Each gives the right gradient, at 2.0 at least.
BROKEN = {
    "cut off": "fn h(x) { return x**3 } backward (dy) { return 3*detach(x)**2*dy }\n",
    "half cut off": "fn h(x) { return x**3 } backward (dy) { return 3*x*detach(x)*dy }\n",
    "cotangent cut off": "fn h(x) { return x**3 } backward (dy) { return 3*x**2*detach(dy) }\n",
    "another function": "fn h(x) { return x**3 } backward (dy) { return 6*x*dy }\n",
    "inner rule": "fn q(x) { return x**2 } backward (dy) { return 5*x*dy }\n"
    "fn h(x) { return x**3 } backward (dy) { return 3*q(x)*dy }\n",
    "constant": "fn h(x) { return x**3 } backward (dy) { return 12.0 * dy }\n",
    "opaque": "opaque fn h(x) { return x**3 }\nbackward h(dy, x) { return 3*detach(x)**2*dy }\n",
}
TWICE = {
    "hessian of a function": "y = hessian(h)(x)",
    "hessian": "y = hessian(h(x), x)",
    "grad of grad": "y = grad(grad(h))(x)",
    "grad of a gradient": "g = grad(h(x), x); y = grad(g, x)",
    "grad of grad of a value": "y = grad(grad(h(x), x), x)",
    "hvp of a function": "y = hvp(h)(x, 1.0)",
    "hvp": "y = hvp(h(x), x, 1.0)",
    "forward over reverse": "y = jvp(grad(h))(x, 1.0)",
    "forward Jacobian": 'y = jacobian(grad(h), mode = "forward")(x)',
    "nested tapes": "tape a { tape b { v = h(x) }; g = b.gradient(v, x) }; y = a.gradient(g, x)",
    "rows": "y = vmap(grad(grad(h)))([x, 3.0])",
    "Hessian of rows": "y = hessian(sum(vmap(h)([x, 3.0])), x)",
    "elements": "y = hessian(fn(v) = sum(h(v)))([x, 3.0])",
    "loop": "fn l(x) { s = 0.0; for i in range(3) { s = s + h(x) }; return s }; y = grad(grad(l))(x)",
    "third order": "y = grad(grad(grad(h)))(x)",
    "inside": "y = grad(sin(h(x)) * x, x); z = grad(y, x)",
    "gradient of an output": "z = grad(h(x), x) * x; output z",
}


def run(text: str, **options: Any) -> Check:
    return check(
        parse_program(Source("<test>", text)), {}, CheckOptions(methods=("complex",), **options)
    )


def rules(found: Check) -> list[str]:
    return [f.verdict for f in found.findings if f.method == "rules"]


@pytest.mark.parametrize("asks", TWICE.values(), ids=TWICE)
def test_the_rule_behind_a_second_derivative_has_to_have_a_right_one(asks: str) -> None:
    for name in ("cut off", "half cut off", "inner rule", "constant"):
        found = run(f"{BROKEN[name]}var x = 2.0\n{asks}")
        assert (rules(found), found.exit_code) == (["disagree"], 1), name
    right = run(f"{RIGHT}var x = 2.0\n{asks}")
    assert (rules(right), right.exit_code) == (["agree"], 0)


@pytest.mark.parametrize("rule", BROKEN.values(), ids=BROKEN)
def test_the_function_is_named_and_the_gradient_itself_is_right(rule: str) -> None:
    found = run(f"{rule}var x = 2.0\ny = grad(sin(h(x)), x); z = grad(y, x)")
    assert rules(found) == ["disagree"]
    assert found.blamed[0].operation in ("h", "q")
    assert rules(run(f"{rule}var x = 2.0\ny = grad(h(x), x)")) == ["agree"]


def test_several_parameters_and_results() -> None:
    rule = (
        "fn h(x, k) {{ return [x**3*k, x*k**2] }} "
        "backward (dy) {{ return [3*x**2*k*dy[0] + {0}*dy[1], x**3*dy[0] + 2*x*k*dy[1]] }}\n"
    )
    asks = "var x = 2.0; var k = 3.0; v = h(x, k); g = grad(v[0] * v[1], x); y = grad(g, k)"
    assert rules(run(rule.format("k**2") + asks)) == ["agree"]
    assert rules(run(rule.format("detach(k)**2") + asks)) == ["disagree"]


def test_a_rule_may_give_a_constant_where_that_is_the_derivative() -> None:
    rule = "fn h(x) { return 3 * x } backward (dy) { return 3.0 * dy }\nvar x = 2.0\n"
    for asks in TWICE.values():
        assert rules(run(rule + asks)) == ["agree"], asks


def test_one_of_several_gradients_that_is_a_constant_is_tested() -> None:
    rule = "fn h(x, k) { return x**2 * k } backward (dy) { return [2*x*k*dy, 4.0 * dy] }\nvar x = 2.0; var k = 3.0\n"
    for asks in ("y = hessian(h, wrt = [0, 1])(x, k)", "g = grad(h(x, k), k); y = grad(g, x)"):
        assert rules(run(rule + asks)) == ["disagree"], asks


@pytest.mark.parametrize(
    "asks",
    [
        "y = jacobian(jvp(h))(x, 1.0)",  # by the body
        "k = fn(x) { g = grad(h)(x); return detach(g) * x }; y = grad(k)(x)",
        "y = detach(grad(h(x), x)) * x; output y",
        "k = fn(x) { pause { g = grad(h)(x) }; return g * x }; y = grad(k)(x)",
    ],
)
def test_a_derivative_that_is_not_differentiated_again_needs_none(asks: str) -> None:
    found = run(f"{BROKEN['cut off']}var x = 2.0\n{asks}")
    assert (rules(found), found.exit_code) == (["agree"], 0)


@pytest.mark.parametrize(
    "program",
    [
        "fn h(x) { return x * abs(x) } backward (dy) { return 2 * abs(x) * dy }; var x = 0.0; y = grad(grad(h))(x)",
        "fn h(x) { return maximum(x, 0.0)**2 } backward (dy) { return 2*maximum(x, 0.0)*dy }; var x = 0.0; y = grad(grad(h))(x)",
        "fn h(x) { return exp(x) / (1 + exp(x)) } backward (dy) { s = sigmoid(x); return s*(1 - s)*dy }; var x = 30.0; "
        "y = hessian(h)(x)",
        "fn h(x) { return (1 - cos(x)) / x**2 } backward (dy) { return dy*(sin(x)/x**2 - 2*(1 - cos(x))/x**3) }; var x = 1e-4; "
        "y = hessian(h)(x)",
        "fn h(x) { return log(sum(exp(x))) } backward (dy) { return softmax(x)*dy }; var x = [1.0, 2.0, -50.0]; "
        "y = hessian(h)(x)",
        "fn h(a, b) { return a @ b } backward (dy) { return [dy @ transpose(b), transpose(a) @ dy] }; "
        "var a = [[1.0, 2.0], [3.0, 4.0]]; var b = [[0.5, 1.0], [2.0, 1.0]]; "
        "g = grad(sum(h(a, b)**2), a); y = grad(sum(g**2), b)",
    ],
)
def test_kinks_and_cancellation_are_no_wrong_rule(program: str) -> None:
    found = run(program)
    assert (rules(found), found.exit_code) == (["agree"], 0)


@pytest.mark.parametrize(
    "program",
    [
        "var x = 30.0; y = grad(fn(x) = exp(x) / (1 + exp(x)))(x)",
        "fn h(x) { return exp(x) / (1 + exp(x)) } backward (dy) { s = sigmoid(x); return s*(1 - s)*dy }; var x = 30.0; "
        "y = hessian(h)(x)",
        "var x = [30.0, -30.0, 1.0]; y = hessian(fn(x) = sum(exp(x) / (1 + exp(x))))(x)",
        "var x = 1e-4; y = grad(fn(x) = 1e4 * x**3)(x)",
        "var x = 1e-30; y = grad(fn(x) = sqrt(x))(x)",
        "var x = -348.0; y = grad(grad(expit))(x)",
    ],
)
def test_numbers_that_are_small_in_float32_are_no_wrong_rule(program: str) -> None:
    found = run(program, run=Options(dtype="float32"))
    assert (rules(found), found.exit_code) == (["agree"], 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("p", [1e-12, 0.01, 0.14, 0.16, 0.5, 0.9])
def test_the_second_derivative_of_a_quantile(p: float, dtype: str) -> None:
    found = run(f"var p = {p}; y = grad(grad(ndtri))(p)", run=Options(dtype=dtype))
    assert (rules(found), found.exit_code) == (["agree"], 0)
