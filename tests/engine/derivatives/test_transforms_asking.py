"""Functions that ask for gradients of values themselves, under transforms: tapes, captured
variables, pauses."""

from __future__ import annotations

import numpy as np
import pytest

from ..programs import evaluate, executed, failure, flat, value

# A body that asks, as a function of `y` beside `var x = 3.0` and `a = x**2`, and the derivative of
# what it gives at 2.
ASKING = {
    "by the argument": ("z = y**3; return grad(z, y) * y", 36.0),
    "by a captured variable": ("z = y * x**2; return grad(z, x)", 6.0),
    "by one that is reached twice": ("z = y * a * x; return grad(z, x)", 27.0),
    "by a captured intermediate": ("z = y * a**2 * x; return grad(z, a)", 54.0),
    "by an intermediate of its own": ("b = y * x; z = b**2; return grad(z, b)", 6.0),
    "by both in turn": ("z = y**2 * x**2; return grad(grad(z, x), y)", 12.0),
    "by both, the other way round": ("z = y**2 * x**2; return grad(grad(z, y), x)", 12.0),
    "by several": ("z = y**2 * x; g = grad(z, [x, y, {a: x}]); return g[0] + g[1] * g[2].a",
        4.0 + 6.0 * 3.0 * 4.0),
    "a tape": ("tape t { z = y * x**2 }; return t.gradient(z, x)", 6.0),
    "a tape that watches": ("tape t { watch y; z = y**3 }; return t.gradient(z, y)", 12.0),
    "a tape that watches a name": ("tape t (watch_variables = false) { watch x; z = y * x**2 }; return t.gradient(z, x)", 6.0),
    "a tape inside its own block": ("tape t { watch y; z = y**3; g = t.gradient(z, y) }; return g",
        12.0),
    "nested tapes": ("tape s { watch y; tape t { watch y; z = y**3 }; g = t.gradient(z, y) }; return s.gradient(g, y)", 6.0),
    "a tape from outside": ("z = y * a; return outer.gradient(z, x)", 6.0),
    "what a tape watched": ("tape t { z = y * x**2 }; return len(t.watched_variables()) * y", 1.0),
    "watch": ("watch y; z = y**3; return grad(z, y) * y", 36.0),
    "a method": ("z = y**3; return z.grad(y)", 12.0),
    "the builtin as a value": ("z = y**3; return ask(z, y)", 12.0),
    "the builtin in a dict": ("z = y**3; return asks.g(z, y)", 12.0),
    "the other builtins": ("z = y**3; return hessian(z, y) + jacobian(z, y) + hvp(z, y, 1.0) + vjp(z, y, 1.0)", 36.0),
    "jvp": ("return jvp(y**3, y, 1.0) + jvp(y * x**3, x, 1.0)", 39.0),
    "a variable that it updates": ("s := y; z = s**2 * y; return grad(z, s)", 4.0),
    "descent": ("for i in range(2) { s :-= 0.1 * grad((s * y - 1.0)**2, s) }; return s * y", 0.52),
    "in a pause": ("pause { z = y * x }; return y * y + detach(z)", 4.0),
    "a transform": ("return grad(fn(v) = grad(v**3 * x, x))(y)", 12.0),
}  # fmt: skip
DERIVATIVES = {
    "reverse": "grad(f)(2.0)",
    "forward": "jvp(f)(2.0, 1.0)",
    "by columns": 'jacobian(f, mode = "forward")(2.0)',
    "reverse over reverse": "grad(fn(y) = grad(fn(v) = f(v))(2.0) * y)(1.0)",
    "forward over forward": "jvp(fn(y) = jvp(f)(2.0, 1.0) * y)(1.0, 1.0)",
    "in a pause": "derivative_in_pause",
}


@pytest.mark.parametrize(("body", "expected"), ASKING.values(), ids=ASKING)
@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_functions_that_ask(body: str, expected: float, derivative: str) -> None:
    if derivative == "derivative_in_pause":
        if "outer" in body:
            pytest.skip("no open tape records in a pause")
        derivative = "0.0; pause { d = jvp(f)(2.0, 1.0) }"
    source = f"""
var x = 3.0
var s = 1.0
ask = grad
asks = {{g: grad}}
tape outer (persistent = true) {{
    a = x**2
    fn f(y) {{ {body} }}
    d = {derivative}
}}
output d
"""
    assert value(source) == pytest.approx(expected, rel=1e-13)


def test_a_method_that_asks_in_a_program_with_modules() -> None:
    source = """
module M() { var w = 1.0 }
fn same(y) = y
fn f(y) { z = y**3; g = z.grad(same(y)); return g }
output jvp(f)(2.0, 1.0)
"""
    assert value(source) == 12.0


def test_second_derivatives_of_what_asks() -> None:
    source = "var x = 3.0; fn f(y) { z = y**3 * x**2; return grad(z, x) }; d = [%s]; output d"
    ways = [
        "grad(grad(f))(2.0)", "jvp(grad(f))(2.0, 1.0)", "grad(fn(y) = jvp(f)(y, 1.0))(2.0)",
        "jvp(fn(y) = jvp(f)(y, 1.0))(2.0, 1.0)", "hessian(f)(2.0)", "hvp(f)(2.0, 1.0)",
        'hessian(f, mode = "forward")(2.0)',
    ]  # fmt: skip
    assert value(source % ", ".join(ways)) == pytest.approx([6 * 2.0 * 6.0] * len(ways))


def test_the_result_depends_on_what_was_captured() -> None:
    source = "var x = 3.0; fn f(y) { z = y**2 * x**3; return grad(z, x) }\nd = %s(f)(2.0%s); g = grad(d, x); output d, g"
    for way in (("grad", ""), ("jvp", ", 1.0")):
        evaluation = evaluate(source % way)
        assert evaluation.outputs["d"] == pytest.approx(6 * 2.0 * 3.0**2)
        assert evaluation.outputs["g"] == pytest.approx(12 * 2.0 * 3.0)


@pytest.mark.parametrize(
    "ask", ["", "fn unused(y, x) = grad(y, x)\n"], ids=["by duals", "over the trace"]
)
@pytest.mark.parametrize(
    ("function", "call", "expected"),
    [
        ("fn f(x) { return x**2 } backward (dy) { return 10 * dy }", "jvp(f)(3.0, 1.0)", 6.0),
        (
            "fn f(x) { return x**2 } backward (dy) { return 10 * dy }",
            "jvp(fn(x) = f(x) * x)(3.0, 1.0)",
            27.0,
        ),
        (
            "fn f(x) { return x**2 } backward (dy) { return 10 * dy }",
            "jvp(grad(fn(x) = f(x) * x))(3.0, 1.0)",
            16.0,
        ),
        (
            "fn f(x) { return [x**2, {a: 3*x}] } backward (dy) { return dy[0] }",
            "jvp(f)(3.0, 1.0)",
            [6.0, {"a": 3.0}],
        ),
        ("fn f(x) { return x } backward (dy) { return 10 * dy }", "jvp(f)(3.0, 1.0)", 1.0),
        (
            "fn f(z) = z**2 * conj(z) + exp(1j * z)",
            "jvp(f)(1.0 + 2.0j, 0.5 - 2.0j)",
            -4.410696425836065 - 23.735677589072235j,
        ),
        (
            "fn f(z) = [abs(z)**2, real(z) * z]",
            "jvp(f)(1.0 + 2.0j, 0.5 - 2.0j)",
            [-7.0, 1.0 - 1.0j],
        ),
        ("fn f(x) = [x, x, 2.0, x * x]", "jvp(f)(3.0, 0.5)", [0.5, 0.5, 0.0, 3.0]),
        (
            "fn f(a, b) = [a + b, a, b]",
            "jvp(f, wrt = [0, 1])(3.0, 4.0, v = [0.5, 2.0])",
            [2.5, 0.5, 2.0],
        ),
        (
            "fn f(x) = where(x > 0, sqrt(x), 0.0)",
            "[jvp(f)(0.0, 1.0), jvp(f)(-1.0, 1.0)]",
            [0.0, 0.0],
        ),
    ],
)
def test_tangents_over_the_trace_are_those_of_duals(
    ask: str, function: str, call: str, expected: object
) -> None:
    np.testing.assert_allclose(
        flat(value(f"{ask}{function}\noutput {call}")), flat(expected), rtol=1e-14
    )


@pytest.mark.parametrize(
    "ask", ["", "fn unused(y, x) = grad(y, x)\n"], ids=["by duals", "over the trace"]
)
def test_forward_mode_refuses_an_opaque_function(ask: str) -> None:
    rule = "opaque fn f(x) { return x**2 }\nbackward f(dy, x) { return 2 * x * dy }\n"
    found = failure(f"{ask}{rule}output jvp(f)(3.0, 1.0)")
    assert (found.code, found.message) == (
        "E317",
        "forward mode can't differentiate `f`, which is opaque",
    )
    assert [call.function for call in found.calls] == ["f"]
    assert value(f"{ask}{rule}output jvp(fn(x) = x * f(2.0))(3.0, 1.0)") == 4.0


def test_nothing_is_left_on_the_trace() -> None:
    source = "fn f(y) { z = y**3; return grad(z, y) }\nfor k in range(%d) { d = jvp(f)(2.0, 1.0); pause { d = jvp(f)(2.0, d) } }"
    few, many = (executed(source % n)[0].trace for n in (1, 20))
    assert (len(few.watched), len(few.main.watch), len(few.fresh)) == (
        len(many.watched),
        len(many.main.watch),
        len(many.fresh),
    )
    assert len(many.windows) == 1


@pytest.mark.parametrize("call", ["grad(f)(x)", "jvp(f)(x, 1.0)"])
def test_the_run_that_finds_reasons_takes_the_same_path(call: str) -> None:
    """Newton's method ends there, too, though everything is kept; and what is in the function is
    seen."""
    source = f"""
var w = 1.0
fn f(x) = x**2 - 2.0 + detach(w) * 0.0
x = 1.5
n = 0
while abs(f(x)) > 1e-12 {{ x = x - f(x) / {call}; n = n + 1 }}
g = grad(x, w)
output n
"""
    (found,) = evaluate(source, grad=False).diagnostics
    assert (found.reason, found.span.line if found.span else 0) == ("detached", 3)
