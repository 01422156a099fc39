"""Hot calls of derivatives give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, only

from ..programs import evaluate
from .hot_and_cold import WAYS, assert_same

B = "fn b(x) { y = x*x + sin(x); if y < 0.0 { return y }; return y*x }\n"
C = """fn c(x, y) {
    if 0.0 < x <= 1.0 and not y > 3.0 { a = x*y } elif y != w { a = exp(-y) } else { a = x }
    a += x if a*y >= 0.5 else sqrt(abs(y))
    return a
}
"""
U = "fn o(x) { a = x; if x > 1.0 or x == 0.8 { a *= 0.5 }; return a*x }\n"
P = """fn q(x) {
    if x < -1.0 { for i in range(2) { x = x*x }; return x }
    if x < 0.0 { return 2.5 }
    return x**3 if x != 0.0 else x
}
"""
R = """fn r(x) {
    y = x; k = 3
    for i in range(1, k*2, 2) { if i == 3 { continue }; y = y*x/i + sin(x*i)*0.5 ; k += 1 }
    return y + k
}
"""
T = """fn r(x) {
    y = x; n = 0
    while n < 4 { n += 1; y = y*x + n // 2; if y > 1.0 { break } ; if y < -2.0 { return y*y } }
    for c in [0.5, x, 2] { y -= c*y*y }
    for i in range(2, -2, -1) { for j in range(i) { y += cos(y*j)**2 } }
    return y
}
"""
W = "fn r(x) { y = 1.0 + x*x; while abs(y*y - x*x) > 0.5 { y = 0.5*(y + x*x/y) }; return y*w }\n"
E = "fn r(x, n) { y = x; for i in range(1, n) { y = y*x + n*sin(x) }; return y if n != 3 else 2.0*y }\n"
S = "fn step(x) { if grad(fn(z) = sqrt(z*z)*z)(x) > 0.5 { return x*x }; return -x }\n"
F = "fn f(x) { y = x*x + sin(x); return y*x }\n"
G = "fn g(x, y) { a = x*y + exp(-y); b = sqrt(a**2 + x); return b/a }\n"
H = "k = 0.7; fn h(x) = sin(k*x)*x\n"
N = "fn outer(k) { fn inner(x) = x**3*k; d = grad(inner); return d(k*2.0) + k }\n"
L = "fn square(x) = x*x\nfn l(x) { s = square(x) + 1.0; return square(s)/x }\n"

CALLS = [
    (F, "grad(f)(x)"),
    (F, "value_and_grad(f)(x)[0] * value_and_grad(f)(x)[1]"),
    (F, "jvp(f)(x, 2.0) * w"),
    (F, "jvp(f)(x, v = w)"),
    (F, "value_and_jvp(f)(x, w)[1]"),
    (F, "vjp(f)(x, 0.5)"),
    (F, "vjp(f)(x, u = w*x)"),
    (F, "grad(grad(f))(x)"),
    (F, "grad(grad(grad(f)))(x) * w"),
    (F, "jvp(grad(f))(x, w)"),
    (F, "grad(fn(x) = jvp(f)(x, 1.0))(x)"),
    (F, "grad(f)(x*w + 1.0) / grad(f)(x)"),
    (F + "d = grad(f)\n", "d(x) + d(w)"),
    (G, "grad(g)(x, w)"),
    (G, "grad(g, wrt = 1)(x, w)"),
    (G, "sum(grad(g, wrt = [0, 1])(x, w))"),
    (G, "jvp(g, wrt = [0, 1])(x, w, v = [1.0, 0.0])"),
    (G, "jvp(g, wrt = [1, 0])(x, w, v = [w, 2.0])"),
    (G, "grad(fn(x) = grad(g, wrt = 1)(x, w) * x)(x)"),
    (H, "grad(h)(x)"),
    (N, "outer(x*w)"),
    (L, "grad(l)(x) + w"),
    ("fn p(x, n) = x**n\n", "grad(p)(x, 3) + grad(p)(x, w)"),
    ("fn p(x) = x + w\n", "grad(p)(x*x)*x + w"),
    ("", "grad(fn(z) = z*sin(z)*w)(x)"),
    (B, "b(x)"),
    (B, "grad(b)(x)"),
    (B, "b(x) * grad(b)(x*w) + grad(b)(x - w)"),
    (B, "value_and_grad(b)(x)[1] + value_and_grad(b)(-x)[0]"),
    (B, "jvp(b)(x, w)"),
    (B, "vjp(b)(-x, w)"),
    (B, "grad(grad(b))(x) + grad(grad(b))(-x)"),
    (B, "jvp(grad(b))(-x, w)"),
    (B, "grad(fn(x) = b(sin(x))*grad(b)(-sin(x)))(x)"),
    (B + "fn d(x) = b(x)*b(-x) + b(x - 1.0)\n", "grad(d)(x) + d(x)"),
    (C, "c(x, w) + c(x, x) + c(w, 2.0)"),
    (C, "grad(c)(x, w) * grad(c)(w, x)"),
    (C, "sum(grad(c, wrt = [1, 0])(x, w))"),
    (C, "jvp(c, wrt = [0, 1])(x, w, v = [w, 2.0])"),
    (U, "grad(o)(x) + o(x)"),
    (S, "grad(step)(x) + step(x)"),
    (R, "r(x) + r(w)"),
    (R, "grad(r)(x) * grad(r)(w)"),
    (R, "grad(grad(r))(x) + jvp(r)(x, w)"),
    (T, "r(x)*r(-x)"),
    (T, "grad(r)(x) + jvp(r)(w, x)"),
    (W, "grad(r)(x) + value_and_grad(r)(-x)[0]"),
    (
        "fn r(x, n) { y = x; for i in range(n) { y = y*x + sin(x) }; return y }\n",
        "grad(r)(x, 3) + r(x, 40) + jvp(r)(x, 1.0, 2)",
    ),
    ("fn r(x) { for i in range(k) { x = x*x }; return x }\n", "grad(r)(x) + r(w)"),
    (E, "grad(r)(x, k) + jvp(r)(x, w, k) + r(w, k)"),
    (E, "value_and_grad(r)(x, k)[1] + sum(grad(r, wrt = [0])(x, k))"),
    (E + "d = grad(r)\n", "d(x, k) + grad(fn(z) = d(z, k))(x)"),
    (
        "frozen n = 3\nfn r(x) { y = x; for i in range(2*n, 0, -n) { y = y*x if y > i*0.1 else sin(y) }; return y }\n",
        "grad(r)(x)",
    ),
    (P, "grad(q)(x) + grad(q)(x - 0.8) + jvp(q)(x, w)"),
    ("fn c(x) { if x > 0.0 { return x*x }; return x }\n", "grad(c)(x)"),
    ("fn c(x) = abs(x) if x > 0.0 else w\n", "grad(c)(x)"),
    # of arrays, ints, lists, functions with more than operations in them, names that may be
    # something else
    (F, "sum(grad(f)([x, w]))"),
    (F, "grad(f)(x, 1.0)"),
    (F, "grad(f, wrt = 1)(x)"),
    (F, "grad(f)(k)"),
    (F, "jvp(f)(k, 1.0)"),
    (F, "grad(f)(x = x)"),
    (F, "vjp(f)(x, [1.0])"),
    (F, 'grad(f)("x")'),
    (G, "jvp(g, wrt = [0, 1])(x, w, v = 1.0)"),
    (P, "q(x) + q(x - 0.8) + q(x - 1.6)"),
    (P, "grad(q)(x) + grad(q)(x - 0.8) + grad(q)(x - 1.6)"),
    (P, "jvp(q)(x, w) + jvp(q)(x - 1.0, w)"),
    ("fn r(x) { while x < 50.0 { x = x*x + 0.5 + w*w }; return x }\n", "grad(r)(x)"),
    ("fn r(x) { y = x; for i in range(500) { y = y*0.9 + sin(x) }; return y }\n", "grad(r)(x)"),
    ("fn r(x) { for i in range(2.0) { x = x*x }; return x }\n", "grad(r)(x)"),
    ("fn r(x) { for i in range(2, 0, 1) { y = x*x }; return y }\n", "grad(r)(x)"),
    ("fn r(x) { for i in range(3) { x = x*(5 // (2 - i)) }; return x }\n", "grad(r)(x)"),
    ("fn r(x) { k = 4; for i in range(6) { k *= 3037000500 }; return x*k }\n", "grad(r)(x)"),
    ("fn r(x) { while x { return x*x }; return x }\n", "grad(r)(x)"),
    (
        "fn r(x) { s = fn(z) = z; for i in range(2) { s = fn(z) = z*i*x }; return s(x) }\n",
        "grad(r)(x)",
    ),
    (E, "grad(r)(x, i) + r(x, i + 1)"),
    (E, "grad(r)(x, w)"),
    (E, "grad(r, wrt = 1)(x, k)"),
    ("fn r(x) { for i in range(k) { x = x*x }; return x }\n", "grad(r)(k) + r(x)"),
    (R, "sum(grad(r)([x, w]))"),
    (R, "grad(r)(k)"),
    (B, "sum(grad(b)([x, w]))"),
    (B, "grad(b)(k)"),
    (B, "b(k) + b(x)"),
    ("fn c(x) { if x > 0.0 { y = x }; return y }\n", "grad(c)(x)"),
    ("fn c(x) { if x > 0.0 { return x } }\n", "c(x)*2.0"),
    ("fn c(x) { if x { return x }; return 2.0*x }\n", "c(x) + grad(c)(x)"),
    ("fn c(x) = c(x - 1.0)*x if x > 1.0 else x\n", "grad(c)(abs(x)) if x < 10.0 else x"),
    ("fn c(x) { print_ = 1 if x > 0.0 else 2; return x*print_ }\n", "grad(c)(x)"),
    ("fn c(x) = 1 if x > 0.0 else 2\n", "c(x)*x"),
    ("fn c(x) = 3\n", "grad(c)(x)"),
    ("fn c(x) = k // 2 * x\n", "grad(c)(x)"),
    ("fn a(x) = b(x)*0.5\nfn b(x) = a(x)\n", "grad(a)(x) if x < 0.0 else x"),
    ("f = sin\nf = fn(x) = x*x*x\n", "grad(f)(x)"),
    ("fn f(x) { y = x*x; return y } backward (dy) { return dy*7.0 }\n", "grad(f)(x)"),
    ("fn own(x) = x*detach(x)\n", "grad(own)(x)"),
]
PLACES = {True: (0.8, -1.3), False: (0.8, 0.0, 1e200, float("nan"))}  # by whether they are traced


def answers(tier: int, source: str, inputs: dict[str, float]) -> tuple[str, Any, Any]:
    with only(tier, FIRST_USE):
        try:
            evaluation = evaluate(source, inputs)
        except GradcliError as error:
            return error.diagnostics[0].message, None, None
    return "", evaluation.outputs, evaluation.gradients


def looped(definitions: str, call: str, boxed: bool) -> str:
    """The call three times, of values that a derivative is taken by or not; and differentiated by
    the whole program."""
    kind = "var" if boxed else "frozen"
    return f"{kind} x = 0.8\n{kind} w = 1.7\nk = 2\n{definitions}s = 0.0\nfor i in range(3) {{ s = s + ({call}) }}\noutput s"


@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize(("definitions", "call"), CALLS)
def test_hot_calls_give_the_same(definitions: str, call: str, boxed: bool) -> None:
    source = looped(definitions, call, boxed)
    for x in PLACES[boxed]:
        found, expected = (answers(tier, source, {"x": x}) for tier in WAYS)
        assert_same(found[:2], expected[:2])
        if (
            x != 1e200
        ):  # where products overflow, the order of the factors decides between inf and nan
            assert_same(found, expected)


def test_ints_that_change() -> None:
    """What was read for some is right for these only."""
    source = f"""{E}var x = 0.8
fn d(x) {{ s = 0.0; n = 1; for i in range(20) {{ s = s + r(x, i % 3) + grad(r)(x, n); n = i // 4 }}; return s }}
fn e(x) {{ m = 0; fn f(z) {{ for i in range(m) {{ z = z*x }}; return z }}; s = 0.0
    for i in range(20) {{ m = i // 4; s = s + grad(f)(x) }}
    return s
}}
output d(x), e(x), grad(d)(x), jvp(e)(x, 1.0)"""
    found, expected = (answers(tier, source, {}) for tier in WAYS)
    assert_same(found, expected)
    assert expected[1] is not None


def test_deep_formulas() -> None:
    """Of more parentheses in each other than Python reads."""
    source = """fn r(x) { y = x; for i in range(140) { y = (y + x)*0.5 }; return y }
fn d(x) { s = 0.0; for i in range(3) { s = s + r(x)*x + grad(r)(x) }; return s }
var w = 0.7
output d(w), jvp(d)(w, 1.0), d(0.3), grad(d)(0.3)"""
    found, expected = (answers(tier, source, {}) for tier in WAYS)
    assert_same(found, expected)


ASKED = ["grad(f)(x)", "jvp(f)(x, 1.0)", "grad(grad(f))(x)"]


@pytest.mark.parametrize(
    "way",
    [*ASKED, "b(x) + b(-x)", "grad(b)(x) + grad(b)(-x)", "grad(fn(z) = 2.5*z)(x)", "grad(q)(-x)"],
)
def test_inside_transforms_and_pauses(way: str) -> None:
    source = f"""{F}{B}{P}fn d(x) {{ s = 0.0; for i in range(3) {{ s = s + {way} }}; return s }}
fn p(x) {{ pause {{ y = d(x) }}; return y*x }}
var w = 0.6
tape t {{ y = d(w) }}
pause {{ u = d(w)*w }}
output y, grad(d)(0.4), jvp(d)(w, 2.0), jvp(grad(d))(w, 1.0), grad(p)(w), jvp(p)(w, 1.0), t.gradient(y, w), u"""
    found, expected = (answers(tier, source, {}) for tier in WAYS)
    assert_same(found, expected)
    assert expected[1] is not None


@pytest.mark.usefixtures("hot_at_first_use")
def test_a_tape_knows_what_the_function_used() -> None:
    """The derivative doesn't read `w`, and the function does."""
    source = """var x = 2.0; var w = 3.0
fn f(x) = x*x + w
for i in range(5) { tape t { y = grad(f)(x) } }
output len(t.watched_variables())"""
    assert list(evaluate(source).outputs.values()) == [2]


def test_a_tape_knows_what_a_condition_used() -> None:
    source = """var x = 2.0; var w = 3.0
fn f(x) { if w*x > 0.0 { return x*x }; return x }
for i in range(5) { tape t { y = grad(f)(x) } }
output len(t.watched_variables())"""
    found, expected = (answers(tier, source, {}) for tier in WAYS)
    assert_same(found, expected)


@pytest.mark.usefixtures("hot_at_first_use")
def test_a_captured_name_is_read_when_it_is_called() -> None:
    source = "k = 1.0; fn f(x) = k*x*x; s = 0.0; z = 1.5; for i in range(4) { s = s + grad(f)(z); k = k*2.0 }; output s"
    assert list(evaluate(source).outputs.values()) == [2 * 1.5 * (1 + 2 + 4 + 8)]


@pytest.mark.parametrize("tier", WAYS)
@pytest.mark.parametrize(
    ("expression", "asked"),
    [
        ("grad(f)(x)", False),
        ("grad(f)(x)**2 + x", True),
        ("jvp(f)(x, 1.0) + f(x)", True),
        ("vjp(f)(x, u = 2.0)", False),
        ("value_and_grad(f)(x)[0]", True),
        ("value_and_grad(f)(x)[1]", False),
        ("grad(f, wrt = [0])(x)[0]", False),
        ("k(x)", True),
        ("f(x) * x", True),
    ],
)
def test_outputs_that_are_derivatives_get_no_gradient_unasked(
    expression: str, asked: bool, tier: int
) -> None:
    functions = (
        "var x = 0.8; var w = 3.0; fn f(x) = x**3 * w; fn k(x) { a = x*x; return a + grad(f)(a) }\n"
    )
    for source, expected in ((f"z = {expression}", asked), (f"s = {expression}; z = s * x", True)):
        with only(tier, FIRST_USE):
            found = evaluate(functions + f"for i in range(5) {{ {source} }}\noutput z")
        assert bool(found.gradients) == expected
