"""Hot calls of functions with loops that end when they end: regions give what a call gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import FIRST_USE, HEAT, INTERPRETED, WRITTEN, Heat, only
from gradcli.engine.kernels import hot_calls
from gradcli.engine.kernels.function_calls import FunctionCall

from ..derivatives.random_programs import RELAXED
from ..programs import evaluate, outputs
from ..running.random_bodies import H, blocks
from .hot_and_cold import CALLS_ALONE, WAYS, answer, assert_same

W = "fn f(x, w) { y = x; n = 0; while abs(y) < 20.0 and n < 60 { y = y*1.1 + 0.1*w*x; n += 1 }; return y*w + n }\n"
M = """fn f(x, w) {
    s = 0; n = 0; y = x
    while true {
        n = n + 1
        if n % 3 == 2 { s = s + sin(y*w); y = y + 0.1; continue } elif y > 3.0 or n > 40 { break } else { y = y*1.3 + 0.05*x }
        for i in range(n // 2, 0, -1) { if i == 3 { continue }; s = s + y/i if s < 50.0 else s*0.5 }
    }
    return s - y
}
"""
R = "fn f(x, w) { y = x; for i in range(1, 30) { if y > 4.0 { return y*w*i }; y = y + 0.3*w*y }; return y - w }\n"
U = "fn u(x) = x*x if x > 0.5 else x\n"
G = (
    U
    + "fn f(x, w) { y = x; while y*y < 30.0 { d = grad(u)(y); y = y*1.2 + 0.1*d*w + 0.1 }; return y }\n"
)
K = "k = 0.3; m = 2\nfn f(x, w) { y = x; while y*y < 30.0 { y = y*1.2 + k*w + 0.1*m }; return y }\n"
X = "fn f(x, w) { while x*x < 30.0 { x = x*1.5 + w; w = w*0.9 }; return x*w }\n"
C = "fn f(x, w) { y = x; t = 0.0; while abs(y) < 9.0 { y = y*1.4 + 0.3; t = 0.0; t = t + y*w }; return t if w > 0.0 else 0.0 }\n"
N = """k = 0.6
fn root(a) { y = a; while abs(y*y - a) > 1e-9 { y = 0.5*(y + a/y) }; return y }
fn sign(a) { if a > k { return 1.0 } elif a > 0.0 { return a*a }; return -a }
fn twice(a) { if a < 0.0 { return sign(root(-a)) }; return 2.0*root(a + root(sign(a) + 1.0)) }
fn f(x, w) { s = 0; y = w; for i in range(3) { y = y*0.5 + twice(x)*y
 s += root(y*y + 1.0) + root(0.5 + w*w)*i }; return s + twice(s) }
"""
DEFINITIONS = [W, M, R, G, K, X, C, N]
CALLS = [
    "f(x, w)", "f(x*w, 0.3)", "grad(f)(x, w)", "grad(f, wrt = 1)(x, w)",
    "sum(grad(f, wrt = [1, 0])(x, w))", "vjp(f)(x, 0.4, w)",
    "value_and_grad(f)(x, w)[0] + value_and_grad(f)(x, w)[1]",
    "sum(value_and_grad(f, wrt = [0, 1])(x, w)[1])",
    "grad(grad(f))(x, w)", "value_and_grad(grad(f, wrt = 1), wrt = 1)(x, w)[1]",
    "jvp(grad(f))(x, w, w)",
    "vjp(grad(f))(x, w, 0.3)", "jvp(f)(x, w, w)", "value_and_jvp(f)(x, 0.5, w)[1]",
    "grad(fn(z) { y = z; while y < 9.0 { y = y*2.0 + z*z + 0.1 }; return y })(x)",
]  # fmt: skip


def answers(tier: int, source: str, **inputs: float) -> Any:
    """What a program gives, or all that is said of why it doesn't."""
    with only(tier, FIRST_USE):
        try:
            evaluation = evaluate(source, inputs)
        except GradcliError as error:
            return (
                str([(d.code, d.message, d.span, d.calls) for d in error.diagnostics]),
                None,
                None,
            )
    return str(evaluation.diagnostics), evaluation.outputs, evaluation.gradients


def looped(definitions: str, call: str, kind: str = "frozen") -> str:
    return f"{kind} x = 0.8\n{kind} w = 0.7\n{definitions}s = 0.0\nfor i in range(4) {{ s = s + ({call}) }}\noutput s"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("definitions", DEFINITIONS)
def test_hot_calls_give_the_same(definitions: str, call: str) -> None:
    for x in (
        0.8,
        *([-1.3, float("nan") if definitions == N else 1e200] if call in CALLS[2:4] else []),
    ):
        found, expected = (answers(tier, looped(definitions, call), x=x) for tier in WAYS)
        assert_same(found, expected)


@pytest.mark.parametrize("call", CALLS[:3])
@pytest.mark.parametrize("definitions", DEFINITIONS)
def test_they_are_called_where_something_is_recorded(definitions: str, call: str) -> None:
    for outer in ("s", "grad(fn(x) = CALL)(x)", "jvp(fn(w) = CALL)(w, 1.0)"):
        source = looped(definitions, call, "var") + f" + {outer.replace('CALL', call)}"
        found, expected = (answers(tier, source) for tier in WAYS)
        assert_same(found, expected)


@pytest.mark.parametrize("call", CALLS[:-1])
@pytest.mark.parametrize("definitions", DEFINITIONS)
def test_they_are_not_called(monkeypatch: pytest.MonkeyPatch, definitions: str, call: str) -> None:
    counts = []
    original = hot_calls.call_value
    monkeypatch.setattr(hot_calls, "call_value", lambda *args: counts.append(1) or original(*args))
    few, many = (looped(definitions, call).replace("range(4)", f"range({n})") for n in (4, 40))
    with only(heat=Heat(work=1, work_each=0, least_work=1)):
        evaluate(few)
        before = len(counts)
        evaluate(many)
    assert len(counts) == 2 * before


@pytest.mark.parametrize(
    ("body", "x"),
    [
        (
            "while y > 0.0 { y = y - 1.0; s = s + 1.0/y }; return s",
            3.0,
        ),  # what IEEE has a value for
        ("while y > 0.0 { y = y - 1.0; s = s + sqrt(y) }; return s*x", 3.0),
        ("while n < 80 { n = n + 1; m = m*3 }; return x*m", 1.0),  # an int overflow
        ("while n < 9 { n = n + 1; m = m // (5 - n) }; return x*m", 1.0),
        ("while n < 9 { n = n + 1 }; return n", 1.0),  # an int
        ("while n < 9 { n = n + 1; if y > 5.0 { return y } }", 1.0),  # nothing
        ("while n < 9 { n = n + 1; if y > 5.0 { z = y } }; return z*x", 1.0),  # unassigned
        ("while n < 9 { n = n + 1; y = y*y*1e100 }; return y", 2.0),  # inf
        ("while n < 3 { n = n + 1; y = sqrt(y*y*x) }; return y", 0.0),  # 0 * inf on the way back
        ("for i in range(0, 9, n) { y = y*2.0 }; return y", 1.0),  # a step of 0
        ("for i in range(y) { y = y*2.0 }; return y", 1.0),
        ("while y { y = y - 1.0 }; return x*y", 3.0),  # a condition that is a number
        ("while n < 9 { n = n + 1; fail(y) }; return y", 3.0),
        ("while n < 9 { n = n + 1; y = y + [x, 1.0][n] }; return y", 3.0),  # an index out of range
    ],
)
@pytest.mark.parametrize("call", ["f(x)", "grad(f)(x)", "jvp(f)(x, 1.0)"])
def test_what_makes_them_give_up(body: str, x: float, call: str) -> None:
    source = f"frozen x = 0.0\nfn f(x) {{ y = x; s = 0.0; n = 0; m = 1; {body} }}\nfor i in range(4) {{ z = {call} }}\noutput z"
    found, expected = (answers(tier, source, x=x) for tier in WAYS)
    assert_same(found, expected)
    if expected[1] is not None:
        assert repr(found[1]) == repr(expected[1])


def test_an_int_and_a_float_take_functions_of_their_own() -> None:
    definitions = "fn f(x, n) { y = x; while y < 50.0 { y = y*1.5 + n }; return y + n/2 }\n"
    calls = ["f(x, 2)", "f(x, 2.5)", "grad(f)(x, 2)", "grad(f)(x, 2.5)", "grad(f)(2, x)"]
    source = f"frozen x = 0.3\n{definitions}s = 0.0\nfor n in [1, 2.0, 3, 0.5, 2] {{ s = s + f(x, n) + grad(f)(x, n) }}\noutput s"
    for program in (source, *(looped(definitions, call) for call in calls)):
        assert_same(*(answers(tier, program) for tier in WAYS))


def test_steps_are_counted() -> None:
    source = f"{W}frozen x = 0.3\nfor i in range(9) {{ z = grad(f)(x, 0.5) }}\noutput z"
    with only(heat=FIRST_USE), pytest.raises(GradcliError) as error:
        evaluate(source, max_steps=300)
    assert error.value.diagnostics[0].code == "E403"


# ---- random programs -----------------------------------------------------------------------------


RANDOM_CALLS = [
    "f({}, w)", "grad(f)({}, w)", "grad(f, wrt = 1)({}, w)", "sum(grad(f, wrt = [1, 0])({}, w))",
    "jvp(f)({}, 0.5, w)",
    "value_and_grad(f)({}, w)[0]", "value_and_jvp(f)({}, w, w)[1]", "vjp(f)({}, w, w)",
    "grad(grad(f))({}, w)", "value_and_jvp(grad(f))({}, 0.5, w)[1]",
]  # fmt: skip


@settings(RELAXED, max_examples=40)
@given(blocks(), st.sampled_from(RANDOM_CALLS), st.booleans())
def test_random_functions(body: str, call: str, nested: bool) -> None:
    body = body.replace("tanh(", "h(") if nested else body
    body = f"while n < 4 {{ n = n + 1; {body} }}"
    calls = " + ".join(call.format(x) for x in ("x", "(x - 1.3)", "(-x*w)"))
    source = f"""frozen x = 0.7; frozen w = 0.4
{H}
fn f(x, w) {{ a = x*w; b = 0; n = 0; i = 1; {body}; return a*b + x }}
s = 0.0
for i in range(4) {{ s = s + ({calls}) }}
output s"""
    assert_same(*(answers(tier, source) for tier in WAYS))


@pytest.mark.parametrize(
    "body",
    [
        "{ r = v; return r }",
        "{ return v if v > 0.0 else 2.0*v }",
        "{ if v > 0.0 { r = v } else { r = 2.0*v }; return r }",
        "{ while v < 1.0 { v = v*2.0 }; return v }",
        "{ for k in range(3) { if k > v { return 2.0*v } }; return v }",
        "{ return [v, 2.0*v][0] }",
        "{ fn g(a, n) { if n == 0 { return a }; return g(a, n - 1) }; return g(v, 8) }",
    ],
)
@pytest.mark.parametrize("kind", ["var", "frozen"])
@pytest.mark.parametrize("heat", [HEAT, CALLS_ALONE])
def test_a_variable_comes_out_of_a_hot_function_as_the_variable(
    body: str, kind: str, heat: Heat
) -> None:
    source = f"{kind} x = 2.5; fn f(v) {body}; for i in range(200) {{ y = f(x) }}; y := 4.0; z = 3.0*f(x); output x, z"
    with only(heat=heat):
        found = outputs(source)
    assert found == {"x": 4.0, "z": 12.0}


@pytest.mark.parametrize("heat", [HEAT, CALLS_ALONE])
def test_it_is_told_from_other_numbers_as_they_are(heat: Heat) -> None:
    source = """frozen c = 2.0
    fn f(v, w) { r = w if w > 3.0 else v; return r }
    s = 0.0
    for i in range(200) { y = f(c, i*1.0); s = s + y }
    z = f(c, 1.0)
    z := 7.0
    output c, s"""
    with only(heat=heat):
        found = outputs(source)
    assert found == {"c": 7.0, "s": 4 * 2.0 + sum(range(4, 200))}


@pytest.mark.parametrize("heat", [HEAT, CALLS_ALONE])
def test_so_does_each_of_several(heat: Heat) -> None:
    source = "var x = 2.5; fn f(v) = [v, 2.0*v]; for i in range(200) { a, b = f(x) }; a := 4.0; output x, b"
    with only(heat=heat):
        found = outputs(source)
    assert found == {"x": 4.0, "b": 5.0}


# ---- what is hot ---------------------------------------------------------------------------------

MUCH = "fn f(x) { y = x; for i in range(200) { y = y*0.9 + sin(x*i) }; return y }\n"
LITTLE = "fn f(x) { if x < 0.3 { return -x }; return x*x }\n"


@pytest.mark.parametrize(("definition", "calls", "hot"), [(MUCH, 100, True), (LITTLE, 1500, False)])
def test_calls_are_hot_by_the_work_that_they_do(
    monkeypatch: pytest.MonkeyPatch, definition: str, calls: int, hot: bool
) -> None:
    counts = []
    original = hot_calls.call_value
    monkeypatch.setattr(hot_calls, "call_value", lambda *args: counts.append(1) or original(*args))
    source = f"frozen x = 0.5\n{definition}s = 0.0\nfor i in range({calls}) {{ s = s + f(x*i*0.001) }}\noutput s"
    evaluate(source)
    assert (len(counts) < calls) == hot


@pytest.mark.parametrize(("each", "made"), [(0, 9), (10**9, 0)])
def test_a_large_region_needs_more_work(
    monkeypatch: pytest.MonkeyPatch, each: int, made: int
) -> None:
    """What compiling costs follows from the size of the region."""
    counts = []
    original = FunctionCall.run
    monkeypatch.setattr(FunctionCall, "run", lambda *args: counts.append(1) or original(*args))
    source = f"frozen x = 0.5\n{MUCH}s = 0.0\nfor i in range(10) {{ s = s + f(x + i) }}\noutput s"
    with only(heat=Heat(work=1, least_work=1, work_each=each)):
        evaluate(source)
    assert len(counts) == made


@pytest.mark.parametrize(
    ("source", "depth"),
    [
        ("frozen x = 0.5\ny = f(x) + f(x)", 0),
        ("var x = 0.5\ny = f(x) + f(x)", 1),
        ("frozen x = 0.5\ny = grad(fn(z) = H(f(z) + f(z)))(x)", 1),
        ("frozen x = 0.5\ny = jvp(fn(z) = H(f(z) + f(z)))(x, 1.0)", 1),
        ("var x = 0.5\ny = grad(fn(z) = H(f(z) + f(z)))(x)", 2),
        ("frozen x = 0.5\ny = grad(grad(fn(z) = H(f(z) + f(z))))(x)", 2),
        ("frozen x = 0.5\ny = jvp(grad(fn(z) = H(f(z) + f(z))))(x, 1.0)", 2),
        ("var x = 0.5\ntape t { y = f(x) + f(x) }", 2),
    ],
)
def test_nested_derivatives_need_more_work(
    monkeypatch: pytest.MonkeyPatch, source: str, depth: int
) -> None:
    """The derivatives of a region are compiled with it, and each of them is larger."""
    asked: list[tuple[int, int, int]] = []
    original = FunctionCall.unpaid

    def unpaid(call: FunctionCall, depth: int, work: float) -> int:
        asked.append((depth, original(call, depth, 0), original(call, depth + 1, 0)))
        return original(call, depth, work)

    monkeypatch.setattr(FunctionCall, "unpaid", unpaid)
    with only(heat=Heat(work=1, least_work=1, work_each=1)):
        evaluate(f"{MUCH}fn H(y) {{ expect y == y; return y }}\n{source}\noutput y")
    (found, least, more), *_ = asked
    assert found == depth
    assert 0 < least < more


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "1", "2.5", "True", "1"],
        ["[1.0, 2.0]", "[1.0, 2.0, 3.0]", "[1, 2]", "[1.0, 2.0]"],
        ["array([1.0, 2.0])", "array([1.0, 2.0, 3.0])", "array([1, 2])", "array([[1.0, 2.0]])"],
        ["k", "x", "k", "k*1.0", "w"],
    ],
)
def test_values_of_other_kinds_are_told_apart(values: list[str]) -> None:
    calls = "; ".join([f"s = s + f({value})" for value in values]).replace("True", "true")
    source = f"frozen k = 0.25\nvar x = 0.5\nw = 2\nfn f(v) {{ y = v; for i in range(3) {{ y = y*1.5 + v }}; return sum(y) if k > 0.0 else v }}\ns = 0.0\nfor i in range(3) {{ {calls} }}\noutput s"
    assert_same(*(answers(tier, source) for tier in WAYS))


@pytest.mark.parametrize(
    "call",
    [
        "jvp(p, wrt = [0, 1])(x, w, v = [0.5, w])",
        "jvp(p, wrt = 1)(x, w, v = 0.5)",
        "value_and_jvp(p, wrt = [1, 0])(x, w, v = [w, x])[1]",
        "jvp(q)(x, 0.5)[1] + jvp(q)(x, w)[0]",
        "value_and_jvp(q)(x, 0.5)[0][1]",
        "vjp(p)(x, w, u = 0.3)",
        "grad(p)(x, w = 0.3)",
    ],
)
def test_derivatives_with_vectors_and_names(call: str) -> None:
    source = f"""frozen x = 0.8
frozen w = 0.7
fn p(x, w) {{ y = x; while y < 20.0 {{ y = y*1.5 + w*x }}; return y*w }}
fn q(x) {{ y = x; while y < 20.0 {{ y = y*1.5 + x }}; return [y, y*x] }}
fn g() = {call}
s = 0.0
for i in range(4) {{ s = s + g() }}
output s"""
    assert_same(*(answers(tier, source) for tier in WAYS))


@pytest.mark.parametrize(
    "source",
    [
        "fn f(a, b = 2.0) { s = a; for i in range(3) { s = s*b + 0.1 }; return s }\n"
        "output f(0.3), f(0.2), f(0.3, 0.5), f(0.2), f(x, x), f(b = x, a = 0.1), f(0.1, b = 1.0)",
        "fn g(z) = z*2.0\nf = fn(z) = g(z) + f(z)\noutput f(x)",
        "var d = {a: 1.5, l: [0.2]}; var l = [{a: 0.5}]; const g = fn(z) = z*d.a\n"
        "fn f(d, l, g, z) { for i in range(3) { z = g(z)*d.l[0] + l[0].a }; return z }\n"
        "output f(d, l, g, 0.3), f(d, l, g, 0.2), f({a: 1.0, l: [0.3]}, l, sin, 0.1), f(d, l, g, x)",
        "var v = [1.0, 2.0]; var w = [0.5, 0.2]; var u = [0.1, 0.2]; var t = [0.3]\n"
        "fn f(v, w, u, t) { z = concatenate([v[2:], u]); z[5:] = t[1:]; return sum(z) + dot(w[2:], 2*v[:0]) }\n"
        "output f(v, w, u, t)",
        "const c = 0.5; opaque fn f(z) { s = z; for i in range(3) { s = s * c + 1.0 }; return s }\n"
        "backward f(g, z) { return g / 8 }\nopaque fn h(z) { return 2.0*z }\n"
        "fn g(z) { for i in range(3) { z = h(z) + f(x) }; return z }\noutput f(2.0), detach(g(0.3))",
    ],
    ids=[
        "fewer arguments than before",
        "too deep",
        "with variables that hold lists and functions",
        "with parts without elements",
        "of opaque ones",
    ],
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_calls_of_one_function(source: str, mode: str) -> None:
    source = f"var x = 0.7\n{source}"
    with only(WRITTEN, FIRST_USE):
        found = answer(source, mode=mode)
    with only(INTERPRETED):
        assert_same(found, answer(source, mode=mode))
