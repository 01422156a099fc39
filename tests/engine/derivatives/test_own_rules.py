"""Derivative rules of a program's own functions: what they see, what they may return, where they
are asked, to any order."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from gradcli.engine.ad.derivatives import gradients
from gradcli.engine.backends.tiers import INTERPRETED, only
from gradcli.engine.trace.tape import Segment

from ..programs import evaluate, executed, failure, outputs, recorded, warnings

CUBE = "fn cube(x) { return x**3 } backward (dy) { return dy * 3 * x**2 }"
OPAQUE = "opaque fn cube(x) { return x**3 }"
REGISTERED = f"{OPAQUE}; backward cube(dy, x) {{ return dy * 3 * x**2 }}"
# A rule that isn't the derivative of its body shows who was asked.
TWICE = "fn twice(x) { return 2 * x } backward (dy) { return 10 * dy }"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (f"{TWICE}; var x = 3.0; r = grad(twice(x), x)", 10.0),
        (f"{TWICE}; var x = 3.0; r = grad(twice(twice(x)), x)", 100.0),
        (f"{TWICE}; var x = 3.0; y = x * x; r = grad(twice(y) + y, [x, y])", [66.0, 11.0]),
        (f"{TWICE}; var x = 3.0; r = grad(x.twice() + twice(x = x), x)", 20.0),
        (f"{TWICE}; var x = 3.0; fs = [sin, twice]; f = fs[1]; r = grad(f(x), x)", 10.0),
        (f"{TWICE}; var x = 3.0; tape t {{ y = twice(x) }}; r = t.gradient(y, x)", 10.0),
        (f"{TWICE}; var x = 3.0; fn g(a) = twice(a) * a; r = grad(g(x), x)", 36.0),
        (f"{TWICE}; var x = [1.0, 2.0]; r = jacobian(twice(x), x)", [[10.0, 0.0], [0.0, 10.0]]),
        (f"{TWICE}; var x = [1.0, 2.0]; r = jvp(twice(x), x, [1.0, 3.0])", [10.0, 30.0]),
        (f"{TWICE}; var x = 3.0; r = grad(twice(2.0) * x, x)", 4.0),
        (f"{TWICE}; var x = 3.0; r = grad(twice(detach(x)) * x, x)", 6.0),
        # a function that gives back what it was given, or a constant
        ("fn clip(x) { return x } backward (dy) { return dy * 0.5 / maximum(norm(dy), 0.5) }; var x = 2.0; "
         "r = grad(clip(x * x), x)",
         2.0),
        ("fn step(x) { return 1.0 if x > 0 else 0.0 } backward (dy) { return dy }; var x = 2.0; r = grad(3 * step(x), x)", 3.0),
        ("fn whole(x) { return round(x) } backward (dy) { return dy }; var x = [0.4, 1.6]; r = grad(whole(x)**2, x)", [0.0, 4.0]),
        # several parameters, defaults and none among them
        ("fn f(a, b = 3.0) { return a * b } backward (dy) { return [dy * b, dy * a] }; var x = 2.0; var k = 5.0; "
         "r = [grad(f(x), x), grad(f(x, k), [x, k]), grad(f(b = x, a = k), x)]",
         [3.0, [5.0, 2.0], 5.0]),
        ("fn f(a, b) { return a * b } backward (dy) { return [none, 7 * dy] }; var x = 2.0; var k = 5.0; "
         "r = grad(f(x, k), [x, k])",
         [None, 7.0]),
        ("fn f(a, n) { return a**n } backward (dy) { return [dy * n * a**(n - 1), none] }; var x = 2.0; "
         "r = grad(f(x, 3), x)", 12.0),
        ("fn f(a, b) { return a * b } backward (dy) { return [dy * b, dy * a] }; var x = 3.0; r = grad(f(x, x), x)", 6.0),
        # recursion, and rules in functions
        ("fn power(x, n) { return x if n == 1 else x * power(x, n - 1) } backward (dy) { return [n * dy, none] }; var x = 3.0; "
         "r = grad(power(x, 5), x)", 5.0),
        ("fn fact(x, n) { return 1.0 if n == 0 else x * fact(x, n - 1) } backward (dy) { return [dy * fact(x, n - 1), none] }; "
         "var x = 3.0; r = grad(fact(x, 3), x)", 9.0),
        ("fn outer(a) { fn inner(z) { return z } backward (dy) { return dy * k }; k = 4.0; return inner(a) * a }; var x = 3.0; "
         "r = grad(outer(x), x)", 15.0),
        # what a rule sees: the function's names as they were when it returned
        ("fn f(x) { t = exp(x); return t } backward (dy) { return dy * t + 1 }; var x = 0.0; r = grad(f(x), x)", 2.0),
        ("fn f(x) { x = 5 * x; return x } backward (dy) { return dy * x }; var x = 1.0; r = grad(f(x), x)", 5.0),
        (f"{CUBE}; var x = 2.0; y = cube(x); x := 5.0; r = grad(y, x)", 12.0),
        (f"{REGISTERED}; var x = 2.0; y = cube(x); x := 5.0; r = grad(y, x)", 12.0),
        ("k = 2.0; fn f(x) { return k * x } backward (dy) { return dy * k }; var x = 1.0; y = f(x); k = 3.0; "
         "r = grad(y, x)", 2.0),
        ("frozen n = 0; fn f(x) { return x } backward (dy) { n :+= 1; return dy }; var x = 1.0; y = f(x) + f(x); g = grad(y, x); "
         "r = [n, g]", [2, 2.0]),
        # a rule may ask for derivatives itself
        ("fn root(a) { x = 1.0; for k in range(30) { x = x - (x**3 + a*x - 1) / (3*x**2 + a) }; return x } backward (dy) { "
         "z = detach(x); watch z; e = z**3 + a*z - 1; return -dy * grad(e, a) / grad(e, z) }; "
         "var a = 2.0; y = root(a); r = grad(y, a) * (3*y**2 + 2) / y", -1.0),
        # registered rules: at any time before they are needed
        (f"{REGISTERED}; var x = 2.0; r = grad(cube(x), x)", 12.0),
        (f"{OPAQUE}; var x = 2.0; y = cube(x); backward cube(g, a) {{ return g * a }}; r = grad(y, x)", 2.0),
        ("fn make(k) { opaque fn f(x) { return k * x }; if k > 1 { backward f(dy, x) { return dy * k } } else { "
         "backward f(dy, x) { return -dy * k } }; return f }; a = make(3.0); b = make(0.5); var x = 2.0; "
         "r = [grad(a(x), x), grad(b(x), x)]", [3.0, -0.5]),
        ("opaque fn f(a, b) { return a * b }; backward f(dy, a, b) { return [a, b] }; var x = 2.0; r = grad(f(x, 7.0), x)", 2.0),
    ],
)  # fmt: skip
def test_gradients(program: str, expected: Any) -> None:
    found = outputs(f"{program}; output r")["r"]
    assert _close(found, expected), found


def _close(found: Any, expected: Any) -> bool:
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(_close, found, expected))
    return found is expected if expected is None else bool(np.allclose(found, expected, rtol=1e-12))


# ---- lists and dicts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("fn f(d) { return d.w * d.b[0] } backward (dy) { return {w: dy * d.b[0], b: [dy * d.w, none]} }; "
         "r = grad(f({w: x, b: [z, 3.0]}), [x, z])", [5.0, 2.0]),
        ("fn f(l) { return sum(l * l) } backward (dy) { return 2 * dy * l }; r = grad(f([x, z]), [x, z])", [4.0, 10.0]),
        ("fn f(l) { return l[0] * l[1] } backward (dy) { return [dy * l[1], dy * l[0]] }; "
         "r = grad(f([x, z]), [x, z])", [5.0, 2.0]),
        ("fn f(l) { return l[0] * l[1] } backward (dy) { return [[dy * l[1], none]] }; r = grad(f([x, z]), [x, z])", [5.0, None]),
        ("fn f(v) { return sum(v) } backward (dy) { return [dy, 2 * dy] }; r = grad(f(array([x, z])), [x, z])", [1.0, 2.0]),
        ("fn f(v) { return sum(v) } backward (dy) { return [dy * [1.0, 2.0]] }; r = grad(f(array([x, z])), [x, z])", [1.0, 2.0]),
        ("fn f(v) { return v } backward (dy) { return [7 * dy] }; r = grad(f(x), x)", 7.0),
        # several results: the cotangent has their structure, zeros for what isn't asked, none for
        # what is no float
        ("fn f(a, b) { return [a * b, a + b] } backward (dy) { return [dy[0] * b + dy[1], dy[0] * a + dy[1]] }; "
         "p, q = f(x, z); r = [grad(p, [x, z]), grad(q, [x, z]), grad(p * q, x)]",
         [[5.0, 2.0], [1.0, 1.0], 45.0]),
        ("fn f(a) { return {n: 3, m: [a, 2 * a]} } backward (dy) { expect dy.n == none; return dy.m[0] + 10 * dy.m[1] }; "
         "d = f(x); r = [d.n, grad(d.m, x), grad(d.m[1], x)]", [3, 11.0, 10.0]),
        ("fn f(v) { return [sum(v), v] } backward (dy) { return dy[0] + 2 * dy[1] }; v = array([x, z]); s, w = f(v); "
         "r = [grad(s, v), grad(w, v)]", [[1.0, 1.0], [2.0, 2.0]]),
    ],
)  # fmt: skip
def test_lists_and_dicts(program: str, expected: Any) -> None:
    assert _close(outputs(f"var x = 2.0; var z = 5.0; {program}; output r")["r"], expected)


# ---- to any order, and both sweeps ---------------------------------------------------------------

# A body, its rule, and the same function without one.
SAME = [
    ("return x**3", "return dy * 3 * x**2"),
    ("t = exp(x); return t", "return dy * t"),
    ("t = exp(x); u = t * x; return u", "return dy * (t + u)"),
    ("return x.sin().exp()", "return dy * exp(sin(x)) * cos(x)"),
    ("s = sin(x); l = [s, s * s]; return l[0] + l[1]", "return dy * (1 + 2 * l[0]) * cos(x)"),
]


@pytest.mark.parametrize(("body", "rule"), SAME)
@pytest.mark.parametrize("opaque", [False, True])
def test_higher_orders(body: str, rule: str, opaque: bool) -> None:
    own = f"fn f(x) {{ {body} }} backward (dy) {{ {rule} }}"
    if opaque:
        own = f"opaque fn f(x) {{ {body} }}; backward f(dy, x) {{ {body.replace('return', 'r_ =')}; {rule} }}"
    rest = "; y = f(2 * x) * x; a = grad(y, x); b = grad(a, x); c = grad(b, x); output y, a, b, c"
    expected = outputs(f"var x = 0.7; fn f(x) {{ {body} }}{rest}")
    found = outputs(f"var x = 0.7; {own}{rest}")
    assert _close(list(found.values()), list(expected.values()))


@pytest.mark.parametrize(("body", "rule"), SAME)
def test_arrays_and_the_sweep_that_is_not_recorded(body: str, rule: str) -> None:
    rest = "; y = sum(f(v)**2); output y"
    expected = evaluate(f"var v = [0.3, -1.2, 2.0]; fn f(x) {{ {body} }}{rest}").gradients["y"]["v"]
    found = evaluate(
        f"var v = [0.3, -1.2, 2.0]; fn f(x) {{ {body} }} backward (dy) {{ {rule} }}{rest}"
    ).gradients["y"]["v"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_hessians_go_through_rules() -> None:
    own = "fn f(v) { return sum(v**3) } backward (dy) { return dy * 3 * v**2 }"
    found = outputs(f"var v = [1.0, 2.0]; {own}; y = f(v * v[0]); h = hessian(y, v); output h")["h"]
    plain = outputs("var v = [1.0, 2.0]; y = sum((v * v[0])**3); h = hessian(y, v); output h")["h"]
    np.testing.assert_allclose(found, plain, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_gradient_has_the_dtype_of_its_parameter(dtype: str) -> None:
    source = "fn f(v) { return sum(v) } backward (dy) { return [1, 2] }; var v = [1.0, 2.0]; var s = 1.0; "
    source += "fn g(a) { return a } backward (dy) { return 3 }; y = f(v) * g(s)"
    gradients = evaluate(source, dtype=dtype).gradients["y"]
    assert gradients["v"].dtype == dtype
    np.testing.assert_allclose(gradients["v"], [1.0, 2.0])
    assert type(gradients["s"]) is (float if dtype == "float64" else np.float32)
    assert gradients["s"] == 3.0


def test_a_gradient_of_a_real_parameter_is_real() -> None:
    source = "fn f(x) { return x } backward (dy) { return dy * (2 + 5j) }; var x = 3.0; g = grad(f(x), x); output g"
    assert outputs(source)["g"] == 2.0


def test_what_nothing_depends_on_is_zero() -> None:
    inverse = "fn inverse(x) { return 1 / x } backward (dy) { return -dy / x**2 }"
    source = f"{inverse}; var v = [0.0, 2.0]; var x = 0.0; y = sum(where(v > 0, inverse(v), 0)) + where(x > 0, inverse(x), 0)"
    gradients = evaluate(source).gradients["y"]
    np.testing.assert_array_equal(gradients["v"], [0.0, -0.25])
    assert gradients["x"] == 0.0
    assert _close(outputs(f"{source}; g = grad(y, [v, x]); output g")["g"], [[0.0, -0.25], 0.0])


def test_gradients_by_rules_are_no_targets() -> None:
    """An output that holds a derivative gets no gradient unasked, whoever computed the
    derivative."""
    assert list(
        evaluate(f"{CUBE}; var x = 2.0; y = cube(x); g = grad(y, x); output y, g").gradients
    ) == ["y"]


# ---- recording -----------------------------------------------------------------------------------


def test_a_call_is_one_record_and_a_plain_sweep_leaves_none() -> None:
    assert recorded(f"{CUBE}; var x = 2.0; y = cube(x) + 1") == ["pow", "cube", "add"]
    several = (
        "fn f(x) { return [x, [1.0, 2 * x]] } backward (dy) { return dy[0] }; var x = 2.0; y = f(x)"
    )
    assert recorded(several).count("f") == 1


def test_a_plain_sweep_leaves_the_trace_as_it_was() -> None:
    rule = "pause { a = dy * 3 }; tape t { watch z; b = z**2 }; return a * t.gradient(b, z)"
    run, frame = executed(
        f"z = 1.5; fn f(x) {{ return x }} backward (dy) {{ {rule} }}; var x = 2.0; y = f(x)"
    )
    trace = run.trace
    before = (
        trace.segment,
        trace.number,
        trace.limit,
        [list(window.ranges) for window in trace.windows],
    )
    found = gradients(run, [(frame[-1], 1.0)], [frame[-2]], recorded=False)
    assert found == [9.0]
    assert before == (
        trace.segment,
        trace.number,
        trace.limit,
        [list(window.ranges) for window in trace.windows],
    )


@pytest.mark.parametrize("function", [CUBE, REGISTERED])
def test_a_training_loop_holds_nothing(function: str) -> None:
    loop = "for i in range(3000) { x :-= 0.001 * grad(cube(x * 2), x) }"
    with only(INTERPRETED):
        run, _ = executed(f"{function}; var x = 1.0; {loop}")
    assert run.trace.number > 20_000
    assert (
        sum(isinstance(thing, Segment) and thing.trace is run.trace for thing in gc.get_objects())
        < 8
    )


@pytest.mark.parametrize(
    ("program", "reason", "line"),
    [
        (
            "fn f(x) { return x } backward (dy) { return none }\nvar x = 1.0\ny = f(x)",
            "rule_gives_none",
            1,
        ),
        (
            "fn f(a, b) { return a * b } backward (dy) { return [none, dy] }\nvar x = 1.0\ny = f(x, 2.0)",
            "rule_gives_none",
            1,
        ),
        (
            f"{OPAQUE}\nvar x = 1.0\ny = cube(detach(x)) + 0 * x * 1.0\nz = cube(detach(x))",
            "detached",
            4,
        ),
        (f"{CUBE}\nvar x = 1.0\npause {{ y = cube(x) }}\nz = y * 2", "paused", 3),
        (
            "fn f(x) { return int64(x) } backward (dy) { return dy }\nvar x = 1.0\ny = 2.0 * f(x)",
            "integer",
            3,
        ),
        (f"{CUBE}\nvar x = 1.0\nvar v = 2.0\na = cube(x)\nz = v * 2", "not_on_path", 1),
        (
            f"{CUBE}\nvar x = 2.0\ntape t {{ z = x * 1.0 }}\ny = cube(z)\ng = t.gradient(y, x)",
            "not_recorded",
            4,
        ),
    ],
)
def test_reasons(program: str, reason: str, line: int) -> None:
    (found,) = [d for d in warnings(program, grad="g =" not in program) if d.reason]
    assert (found.reason, found.span.line if found.span else 0) == (reason, line)


def test_where_a_chain_breaks_inside_a_body_the_rule_goes_on() -> None:
    source = (
        "fn f(x) { return detach(x) * 2 } backward (dy) { return 5 * dy }; var x = 1.0; y = f(x)"
    )
    evaluation = evaluate(source)
    assert evaluation.gradients["y"]["x"] == 5.0
    assert evaluation.diagnostics == []


# ---- at levels of transforms ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (f"{TWICE}; r = [grad(twice)(3.0), grad(fn(z) = twice(z) * z)(3.0)]", [10.0, 36.0]),
        (f"{CUBE}; r = [grad(grad(cube))(2.0), grad(grad(grad(cube)))(2.0)]", [12.0, 6.0]),
        (f"{CUBE}; var x = 2.0; g = grad(cube)(x); r = [g, grad(g, x)]", [12.0, 12.0]),
        (f"{CUBE}; var x = 2.0; k = grad(fn(w) = cube(w) * x)(3.0); r = [k, grad(k, x)]",
            [54.0, 27.0]),
        (f"{CUBE}; r = jacobian(cube, mode = \"reverse\")(array([1.0, 2.0]))",
            [[3.0, 0.0], [0.0, 12.0]]),
        ("fn loss(w) { fn act(z, w) { return z * w } backward (dy) { return [dy * w, dy * z] }; return act(2.0, w)**2 }; "
         "r = [grad(loss)(3.0), grad(grad(loss))(3.0)]", [24.0, 8.0]),
        # a rule of transforms
        ("fn e(x, a) = x**3 + a*x - 1; fn root(a) { low, high = 0.0, 1.0; for k in range(60) { m = (low + high) / 2; "
         "if e(m, a) > 0 { high = m } else { low = m } }; return m } backward (dy) { "
         "return -dy * grad(e, wrt = 1)(m, a) / grad(e)(m, a) }; "
         "var a = 2.0; y = root(a); r = [grad(y, a) * (3*y**2 + 2) / y, grad(root)(a) * (3*y**2 + 2) / y]", [-1.0, -1.0]),
        # forward mode runs the body
        (f"{TWICE}; r = [jvp(twice)(3.0, 1.0), jvp(fn(z) = twice(z) * z)(3.0, 1.0)]", [2.0, 12.0]),
        (f"{CUBE}; r = [grad(fn(z) = jvp(cube)(z, 1.0))(2.0), jvp(fn(z) = jvp(cube)(z, 1.0))(2.0, 1.0)]", [12.0, 12.0]),
        # forward over reverse: what the rule computes is carried along
        (f"{CUBE}; r = [jvp(grad(cube))(2.0, 1.0), hvp(cube)(2.0, 1.0), hessian(cube)(2.0)]",
            [12.0, 12.0, 12.0]),
        (f"{TWICE}; r = jvp(grad(fn(z) = twice(z)**2))(3.0, 1.0)", 40.0),
        # but `hvp` is the Hessian times a vector, and asks the rules, as the one of values does
        (f"{TWICE}; f = fn(z) = twice(z)**2; var z = 3.0; r = [hvp(f)(z, 1.0), hessian(f)(z), hvp(f(z), z, 1.0)]", [200.0] * 3),
        ("opaque fn f(x) { return x**3 }; backward f(dy, x) { return 3 * x**2 * dy }; r = hvp(f)(2.0, 0.5)", 6.0),
        # and `auto` takes reverse mode where rules and bodies may differ
        (f"{TWICE}; r = jacobian(fn(z) = twice(z) * [1.0, 2.0, 3.0])(3.0)", [10.0, 20.0, 30.0]),
        (f"{CUBE}; r = jvp(fn(p) = grad(fn(q) = cube(q * p))(2.0))(3.0, 1.0)", 324.0),
        # one value at two levels: its tangent is the body's, and its gradient outside the rule's
        ("fn f(a, b) { return a * b } backward (dy) { return [10 * dy * b, 10 * dy * a] }; var w = 5.0; "
         "v, t = value_and_jvp(fn(z) = f(z, w))(3.0, 1.0); r = [v, t, grad(v, w), grad(t, w)]",
         [15.0, 5.0, 30.0, 1.0]),
    ],
)  # fmt: skip
def test_transforms(program: str, expected: Any) -> None:
    assert _close(outputs(f"{program}; output r")["r"], expected)


# ---- calls ---------------------------------------------------------------------------------------


def test_a_rule_is_called_as_deep_as_any_function() -> None:
    power = "fn power(x, n) { return x if n == 0 else x * power(x, n - 1) } backward (dy) { return [dy * n * power(x, n - 1), none] }"
    assert evaluate(f"{power}; var x = 1.0; y = power(x, 1900)").gradients["y"]["x"] == 1900.0
    found = failure(
        "fn f(x) { return x } backward (dy) { return dy + grad(f(x), x) }; var x = 1.0; y = f(x)"
    )
    assert found.code == "E406"


def test_a_function_that_an_inner_one_calls_by_name() -> None:
    source = "fn f(n) { fn g() = f(n - 1); return 1.0 if n == 0 else 2 * g() }; output r = f(3)"
    assert outputs(source)["r"] == 8.0
