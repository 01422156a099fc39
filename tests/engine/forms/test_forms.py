"""Closed forms: what is read from a run, in SymPy's words; and every counterpart in the table
against its own entry."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from gradcli.engine.formulas.functions import scalar_function, scalar_partial
from gradcli.engine.symbolic import calculus
from gradcli.engine.symbolic.algebra import counterpart
from gradcli.engine.symbolic.exact import binary
from gradcli.ops import OPS
from gradcli.ops.op import Op
from gradcli.tasks.symbolic import written

from ..domain_points import points
from .closed_forms import close, read

# ---- the table -----------------------------------------------------------------------------------

ELEMENTWISE = [
    op for op in OPS.values() if op.elementwise and op.category not in ("logic", "casting")
]
WITHOUT = {  # derivatives by parameters, which have no names
    "zeta_by_x", "gammainc_by_a", "gamma_density", "betainc_by_ab", "beta_density",
    "beta_edge_slope",
}  # fmt: skip
UNDERIVED = {
    "zeta": {0},
    "gammainc": {0},
    "betainc": {0, 1},
}  # operands by which SymPy has no derivative either


def test_what_has_no_counterpart() -> None:
    assert {op.name for op in ELEMENTWISE if counterpart(op) is None} == WITHOUT


@pytest.mark.parametrize(
    "op", [op for op in ELEMENTWISE if op.name not in WITHOUT], ids=lambda op: op.name
)
def test_counterpart(op: Op) -> None:
    symbols = sympy.symbols(f"x:{len(op.signature.operands)}", real=True)
    read_form = counterpart(op)
    assert read_form is not None
    for point in points(op):
        orders = {
            s: sympy.Integer(int(v))
            for k, (s, v) in enumerate(zip(symbols, point, strict=True))
            if op.partials[k] is None
        }
        form = read_form(*(orders.get(s, s) for s in symbols))
        values = dict(zip(symbols, point, strict=True))
        y = scalar_function(op)(*point)
        assert close(calculus.evaluate(form, values, 25), y)
        for k, symbol in enumerate(symbols):
            if (
                op.partials[k] is None
                or k in UNDERIVED.get(op.name, ())
                or op.name == "quantile_slope"
            ):
                continue
            slope = scalar_partial(op, k)(y, *point)
            assert close(calculus.evaluate(calculus.derivative(form, symbol), values, 25), slope), (
                symbol,
                point,
            )


# ---- programs ------------------------------------------------------------------------------------

FORMS = [
    # numbers stay exact
    ("var x = 0.5; y = sqrt(2) * x + 2/3 * pi * x**2 + 0.1", "2*pi*x**2/3 + sqrt(2)*x + 1/10"),
    ("var x = 0.5; y = x * e + x * exp(1) - 1e-3", "2*E*x - 1/1000"),
    ("const c = sqrt(2); var x = 1.0; y = c * x", "sqrt(2)*x"),
    ("var x = 1.0; y = [sqrt(2), 1/3] * x", "[sqrt(2)*x, x/3]"),
    ("var x = 1.0; s = 0.0; for k in range(1, 4) { s = s + x**k / k }; y = s",
        "x**3/3 + x**2/2 + x"),
    ("var x = 1.0; y = x * 2**0.5**2", "2**(1/4)*x"),
    # functions, arrays, loops
    ("fn f(x) { s = 0.0; for k in range(3) { s = s + x**k }; return s }\nvar x = 0.5; y = f(x)",
        "x**2 + x + 1"),
    ("var x = [1.0, 2.0]; y = sum(x * x[0])", "x[0]**2 + x[0]*x[1]"),
    ("var w = [[1.0, 2.0], [3.0, 4.0]]; y = det(w)", "w[0,0]*w[1,1] - w[0,1]*w[1,0]"),
    ("var w = [[1.0, 2.0], [3.0, 4.0]]; y = w.T[0]", "[w[0,0], w[1,0]]"),
    ("var x = 2.0; a = zeros(3); a[0] = x; a[1] = x * a[0]; y = a", "[x, x**2, 0]"),
    ("var x = [1.0, 2.0]; y = softmax(x)[0]", "exp(x[0])/(exp(x[0]) + exp(x[1]))"),
    ("var x = [3.0, 4.0]; y = norm(x) + max(x)", "sqrt(x[0]**2 + x[1]**2) + Max(x[0], x[1])"),
    ("var x = 3.0; y = where(x > 2, x**2, 0.0)", "Piecewise((x**2, x > 2), (0, True))"),
    ("var x = 2.0; y = mod(x, 3.0) + floordiv(x, 2.0)", "x - 3*floor(x/3) + floor(x/2)"),
    # what a program differentiates itself
    ("var x = 2.0; y = grad(sin(x) * x, x)", "x*cos(x) + sin(x)"),
    ("fn f(x) = x**3 * sin(x)\nvar x = 2.0; y = grad(grad(f))(x)",
        "-x**3*sin(x) + 6*x**2*cos(x) + 6*x*sin(x)"),
    ("var x = 2.0; y = jvp(exp(2 * x), x, 1.0)", "2*exp(2*x)"),
    ("var x = 2.0; attach_grad(x); record { t = x**3 }; backward(t); y = x.grad", "3*x**2"),
    # rows
    ("fn f(a) = a**2 + sin(a)\nvar x = [1.0, 2.0]; y = vmap(f)(x)",
        "[x[0]**2 + sin(x[0]), x[1]**2 + sin(x[1])]"),
    ("fn f(a, b) = a * sum(b)\nvar x = [1.0, 2.0]; var w = [[1.0, 2.0], [3.0, 4.0]]; y = vmap(f, in_axes = [none, 1])(x[0], w)",
     "[x[0]*(w[0,0] + w[1,0]), x[0]*(w[0,1] + w[1,1])]"),
    ("fn f(a, k) = [a, {b: k * a}]\nvar x = [1.0, 2.0]; y = vmap(f)(x, k = [3, 4])[1].b",
        "[3*x[0], 4*x[1]]"),
    ("fn f(a) = sum(vmap(grad(fn(b) = b**3))(a))\nvar x = [[1.0, 2.0], [3.0, 4.0]]; y = vmap(f)(x)[1]",
     "3*x[1,0]**2 + 3*x[1,1]**2"),
    ("fn f(a) { if a > 1 { return a**2 }; return a }\nvar x = [2.0]; y = vmap(f)(x)[0]",
     "Piecewise((x[0]**2, x[0] > 1), (x[0], True))"),
    # states
    ("var x = 1.0; x := x + 1.0; y = x**2", "x**2"),
    ("var x = 1.0; a = x**2; x := 3.0; y = a + x", "x + x@0**2"),
    # paths
    ("var x = 1.5; if x > 1 { y = x**2 } else { y = 2*x - 1 }",
        "Piecewise((x**2, x > 1), (2*x - 1, True))"),
    ("var x = 1.5; y = x if 1 < x < 2 else 0.0",
        "Piecewise((Piecewise((x, x < 2), (0, True)), x > 1), (0, True))"),
    ("var x = 0.5; if x > 1 { y = 1.0 } elif x > 0 { y = x } else { y = -x }",
        "Piecewise((1, x > 1), (x, x > 0), (-x, True))"),
    ("var x = 0.5; y = x; if x > 0 { if x > 0 { y = 2*x } }", "Piecewise((2*x, x > 0), (x, True))"),
    ("fn f(t) = t**2 if t > 0 else t\nvar x = 0.5; y = jvp(f, wrt = 0)(x, v = 1.0)",
        "Piecewise((2*x, x > 0), (1, True))"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_form(text: str, form: str) -> None:
    answer = written(read(f"{text}\noutput y", grad=False, order=0), "text")
    value = answer.values["y"]
    assert (f"[{', '.join(value)}]" if isinstance(value, list) else value) == form
    assert answer.diagnostics == []


DERIVATIVES = [
    ("var x = 0.5; y = x**2 * detach(x)", {("x",): "2*x**2"}),
    ("var x = 0.5; pause { c = x**2 }; y = c * x", {("x",): "x**2"}),
    ("var x = 0.5; y = floor(x) * x", {("x",): "floor(x)"}),
    ("var x = 0.5; y = abs(x)", {("x",): "sign(x)"}),
    ("var x = 1.0; a = x**2; x := 3.0; y = a * x", {("x",): "2*x*x@0 + x@0**2"}),
    ("var x = [1.0, 2.0]; y = x**2", {("x",): ["2*x[0]", "2*x[1]"]}),
    ("var x = 0.5; var z = 2.0; y = x**2 * z",
     {("x",): "2*x*z", ("z",): "x**2", ("x", "x"): "2*z", ("x", "z"): "2*x", ("z", "z"): "0"}),
    ("var z = 1.0 + 2j; y = real(z * conj(z))", {("z",): "2*I*im(z) + 2*re(z)"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "derivatives"), DERIVATIVES)
def test_derivatives(text: str, derivatives: dict[tuple[str, ...], Any]) -> None:
    order = max(map(len, derivatives))
    assert written(read(f"{text}\noutput y", order), "text").derivatives["y"] == derivatives


def test_strings_are_no_forms() -> None:
    found = read('var x = 2.0\noutput y = [x**2, {k: "x"}, none]')
    assert written(found, "text").values["y"] == ["x**2", {"k": '"x"'}, None]
    assert (
        '[x**2, {k: "x"}, none]' in written(found, "pretty").values["y"]
        or '"x"' in written(found, "pretty").values["y"]
    )


def test_of_and_wrt() -> None:
    found = written(
        read("var x = 2.0; t = x**2; y = sin(t) * x; output y", of=("y", "t"), wrt=("t", "x")),
        "text",
    )
    assert found.values == {"y": "x*sin(t)", "t": "t"}
    assert found.derivatives["y"] == {("t",): "x*cos(t)", ("x",): "sin(t)"}


def test_a_constant_asked_for_by_name_is_a_symbol() -> None:
    found = written(read("const k = 3.0; var x = 2.0; y = k * x; output y", wrt=("k",)), "text")
    assert (found.values["y"], found.derivatives["y"]) == ("k*x", {("k",): "x"})


# ---- values --------------------------------------------------------------------------------------

X, Y = sympy.symbols("x y", real=True)
INVOLVED = [
    sympy.sin(X * Y) + sympy.exp(X) / Y,
    sympy.Piecewise((sympy.log(X), X > 0), (Y**2, True)),
    sympy.Max(X, Y) * sympy.Abs(X - Y) + sympy.sign(X) * sympy.floor(3 * Y),
    sympy.gamma(X + 2) * sympy.polygamma(1, Y + 2) + sympy.zeta(Y + 2),
    (X - 1) ** sympy.Rational(1, 3) * sympy.pi + sympy.I * X,
    sympy.And(X > 0, sympy.Gt(Y, sympy.Rational(1, 2))),
    1 / X + sympy.sqrt(-Y),
]


@pytest.mark.parametrize("form", INVOLVED, ids=str)
@pytest.mark.parametrize("point", [(0.3, 1.7), (-0.4, 0.25), (0.0, 0.5)])
def test_parts_that_are_worked_out_once_give_the_same(
    form: Any, point: tuple[float, float]
) -> None:
    at = dict(zip((X, Y), point, strict=True))
    expected = form.xreplace({symbol: binary(x) for symbol, x in at.items()})
    expected = expected.evalf(50) if isinstance(expected, sympy.Expr) else expected
    found = calculus.evaluate(form, at, 50)
    assert found == expected or abs(complex(found - expected)) <= 1e-45 * abs(complex(expected))


def test_functions_of_functions_of_functions_are_evaluated_at_once() -> None:
    form = X
    for _ in range(40):
        form = sympy.cos(X * form)
    assert float(calculus.evaluate(calculus.derivative(form, X), {X: 0.5})) == pytest.approx(
        -0.32177, rel=1e-4
    )
