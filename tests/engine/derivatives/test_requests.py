"""Which outputs are derivatives that a program asks for: they get no gradient unasked, and all
others do."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import Source
from gradcli.engine.analysis.requests import requested_outputs
from gradcli.lang.parser import parse
from gradcli.lang.resolve import resolve

from ..programs import evaluate

HEAD = """var x = 2.0
var v = [1.0, 2.0]
fn f(a) = a**3
fn slope(a) = grad(f)(a)
y = f(x) + sum(v**2)
"""
REQUESTS = [
    "g = grad(y, x)",
    "g = grad(y, v)[1]",
    "g = grad(y, v)[1:]",
    "g = grad(y, {a: x, b: v}).a",
    "g = [grad(y, x), jacobian(y, v)]",
    "g = {a: grad(y, x)}",
    "h = grad(y, x); g = h",
    "a, g = grad(y, [x, v]); output g",
    "a, g = 1.0, grad(y, x); output g",
    "[a, [g, b]] = [y, grad(y, [x, v])]; output g",
    "g = y.grad(x)",
    "g = hessian(y, x)",
    "g = hvp(y, x, 1.0)",
    "g = grad(f)(x)",
    "g = f.grad()(x)",
    "d = grad(f); g = d(x)",
    "d = vmap(grad(f)); g = d(v)",
    "g = grad(grad(f))(x)",
    "g = value_and_grad(f)(x)",
    "g = value_and_grad(f)(x)[1]",
    "p = value_and_grad(f)(x); g = p[1]",
    "a, g = value_and_jvp(f)(x, 1.0); output g",
    "for g in grad(y, [x, v[0]]) { }; output g",
    "g = grad(y, x); output g = g if x > 0 else grad(y, v)[0]",
    "if x > 0 { g = grad(y, x) } else { g = grad(y, v) }",
    "tape t { z = f(x) }; g = t.gradient(z, x)",
    "tape t { z = f(x) }; g = t.gradient(z, [x, x])[0]",
    "attach_grad(x); record { z = f(x) }; backward(z); g = x.grad",
    "const g = grad(y, x); output g",
]
OTHERS = [
    "g = x - f(x) / grad(f)(x)",
    "g = -grad(y, x)",
    "g = grad(y, x) * 1.0",
    "g = sum(grad(y, v))",
    "g = [y, grad(y, x)]",
    "g = slope(x)",
    "g = value_and_grad(f)(x)[0]",
    "g, a = value_and_grad(f)(x); output g",
    "p = value_and_jvp(f)(x, 1.0); g = p[0]",
    "g = vmap(f)(v)",
    "g = detach(y) * x",
    "g = y if x > 0 else grad(y, x)",
    "if x > 0 { g = y } else { g = grad(y, x) }",
    "g = grad(y, x); g = g * x",
    "g = grad(y, x); g += x",
    "g = grad(y, v); g[0] = x",
    "g, a = y, grad(y, x); output g",
    "g = x; h = grad(y, x); for i in range(3) { g, h = h, g }; output g",
    "g = x; for i in range(5) { g = g - grad(f)(g) / hessian(f)(g) }; output g",
    "var s = 1.0; s := grad(y, x); g = s * x",
]


def requested(source: str) -> set[str]:
    text = Source("<expr>", source)
    return requested_outputs(resolve(parse(text), text))


@pytest.mark.parametrize("statements", REQUESTS)
def test_a_request_is_one(statements: str) -> None:
    assert requested(f"{HEAD}{statements}") == {"g"}
    found = evaluate(f"{HEAD}{statements}")
    assert found.gradients == {}
    assert list(found.outputs) == ["g"]


@pytest.mark.parametrize("statements", OTHERS)
def test_what_derivatives_went_into_is_none(statements: str) -> None:
    assert requested(f"{HEAD}{statements}") == set()
    assert any(g is not None for g in evaluate(f"{HEAD}{statements}").gradients["g"].values())


def test_names_for_each_other_end() -> None:
    assert requested("var x = 1.0; a = x; b = x; if x > 2 { a = b; b = a }; output a, b") == set()


def test_newtons_method_is_differentiated() -> None:
    loop = "for i in range(8) { x = x - f(x) / grad(f)(x) }"
    source = f"var a = 2.0; f = fn(x) = x**2 - a; x = 1.5; {loop}; output x"
    found = evaluate(source)
    assert found.outputs["x"] == pytest.approx(2**0.5, rel=1e-14)
    assert found.gradients["x"]["a"] == pytest.approx(0.5 / 2**0.5, rel=1e-12)


def test_a_derivative_has_a_gradient_where_it_is_asked() -> None:
    source = "var x = 2.0; y = x**3; g = grad(y, x); output y, g"
    assert list(evaluate(source).gradients) == ["y"]
    assert evaluate(source, of=("g",)).gradients == {"g": {"x": 12.0}}
