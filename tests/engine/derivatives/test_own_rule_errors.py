"""What goes wrong with a program's own rules: none registered, what no rule can return, and what is
no gradient."""

from __future__ import annotations

import pytest

from ..programs import evaluate, failure, outputs

OPAQUE = "opaque fn cube(x) { return x**3 }"

# ---- functions without a rule --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            f"{OPAQUE}; var x = 2.0; var v = 3.0; y = cube(x); r = grad(v * y, v)",
            8.0,
        ),  # beside the path
        (f"{OPAQUE}; var x = 2.0; y = cube(x); r = grad(y * x, y)", 2.0),  # it ends before
        (f"{OPAQUE}; var x = 2.0; r = grad(cube(detach(x)) * x, x)", 8.0),
        (f"{OPAQUE}; var x = 2.0; r = grad(cube(2.0) * x, x)", 8.0),
        (f"{OPAQUE}; var x = 2.0; const c = 2.0; r = grad(cube(c) * x, x)", 8.0),
        ("var w = 2.0; var x = 3.0; opaque fn f(a) { return w * a }; r = grad(f(1.0) * x, x)", 2.0),
        (
            # A slope whose history leads to no variable, and passes abs of a complex number.
            "var w = 2.0; fn f(x, u) { g = jvp(x + x, x, x); return abs(2j * x) }\n"
            "a = grad(f, wrt = [0, 1])(1.0, 2.0)\nh = grad(a, w)\nr = a[0]",
            2.0,
        ),
        (
            "opaque fn slope(a) { return grad(a**3, a) }; var x = 2.0; r = slope(x)",
            12.0,
        ),  # its body is like any other
    ],
)
def test_an_opaque_function_beside_the_path_is_no_error(program: str, expected: float) -> None:
    assert outputs(f"{program}; output r")["r"] == expected


def test_differentiating_through_an_opaque_function() -> None:
    source = f"{OPAQUE}\nfn g(a) = cube(a) * 2\nfn h(b) = g(b) + 1\nvar x = 2.0\ny = h(x)\nd = grad(y, x)"
    found = failure(source)
    assert (found.code, found.span and found.span.line) == ("E317", 6)
    assert "`cube`" in found.message
    assert (
        "<source>:2:11, in `g` called at <source>:3:11, in `h` called at <source>:5:5"
        in found.label
    )
    assert "`backward cube(dy, x) { … }`" in found.help


def test_an_automatic_gradient_tells_the_place_and_the_calls() -> None:
    found = failure(f"{OPAQUE}\nfn g(a) = cube(a) * 2\nvar x = 2.0\ny = g(x)")
    assert (found.code, found.span and found.span.line) == ("E317", 2)
    assert [(call.function, call.span.line) for call in found.calls] == [("g", 4)]


@pytest.mark.parametrize(
    "request_",
    ["grad(y, x)", "vjp(y, x, 1.0)", "jvp(y, x, 1.0)", "hvp(y, x, 1.0)", "jacobian(y, x)",
        "hessian(y, x)",
     "t.gradient(y, x)", "t.jacobian(y, x)"],
)  # fmt: skip
def test_every_request_says_where_it_was_made(request_: str) -> None:
    found = failure(f"{OPAQUE}\nvar x = 2.0\ntape t {{ y = cube(x) }}\nd = {request_}")
    assert (found.code, found.span and found.span.line) == ("E317", 4)
    assert "<source>:3:14" in found.label


def test_a_builtin_without_a_rule_is_told_likewise() -> None:
    source = "fn f(a) = sign(a * 1j)\nvar x = 2.0\ny = real(f(x))\nd = grad(y, x)"
    found = failure(source)
    assert (found.code, found.span and found.span.line) == ("E317", 4)
    assert "<source>:1:11, in `f` called at <source>:3:10" in found.label
    assert "detach" in found.help


def test_a_transform_says_where_it_was_called() -> None:
    found = failure(f"{OPAQUE}\nfn g(a) = cube(a) * 2\nd = grad(g)(2.0)")
    assert (found.code, found.span and found.span.line) == ("E317", 3)
    assert "<source>:2:11, in `g` called at <source>:3:5" in found.label


@pytest.mark.parametrize("registered", ["", "backward cube(dy, x) { return dy * 3 * x**2 }"])
def test_forward_mode_through_an_opaque_function(registered: str) -> None:
    found = failure(f"{OPAQUE}\n{registered}\nfn g(a) = cube(a) * 2\nd = jvp(g)(2.0, 1.0)")
    assert (found.code, found.span and found.span.line) == ("E317", 1)
    assert "`cube`, which is opaque" in found.message
    assert [(call.function, call.span.line) for call in found.calls] == [("cube", 3), ("g", 4)]
    assert (
        outputs(f"{OPAQUE}; d = jvp(fn(z) = cube(detach(z)) * z)(2.0, 1.0); output d")["d"] == 8.0
    )


# ---- what no rule can return ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "names", "line"),
    [
        (
            "fn f(x) {\n    t = 3 * x\n    return w * t\n} backward (dy) { return dy * w }\ny = f(x)",
            ["`w`"],
            3,
        ),
        (
            "fn f(x) {\n    return w * x + b\n} backward (dy) { return dy }\ny = f(1.0)",
            ["`b`", "`w`"],
            2,
        ),
        ("fn f(x) { return w } backward (dy) { return dy }\ny = f(x)", ["`w`"], 1),
        ("k = 2 * w\nfn f(x) { return k * x } backward (dy) { return dy }\ny = f(x)", ["`k`"], 2),
        (
            "fn helper(a) = a * w\nfn f(x) { return helper(x) } backward (dy) { return dy }\ny = f(x)",
            ["`w`"],
            1,
        ),
        (
            "fn outer(a) { s = 2 * a; fn f(z) { return z * s } backward (dy) { return dy }; return f(a) }\ny = outer(x)",
            ["`s`"],
            1,
        ),
        (
            "opaque fn f(x) { return w * x }\nbackward f(dy, x) { return dy * w }\ny = f(x)",
            ["`w`"],
            1,
        ),
        (
            "opaque fn f(x) { return w * x }\ny = f(x)\nbackward f(dy, x) { return dy * w }",
            ["`w`"],
            1,
        ),
        (
            "fn apply(g, x) { return g(x) } backward (dy) { return [none, dy] }\nfn g(x) = w * x\ny = apply(g, x)",
            ["`w`"],
            2,
        ),
    ],
)
def test_a_captured_variable_is_an_error_that_names_it(
    program: str, names: list[str], line: int
) -> None:
    found = failure(f"var x = 3.0; var w = 2.0; var b = 1.0; {program}")
    assert (found.code, found.span and found.span.line) == ("E323", line)
    assert any(name in found.message for name in names)
    assert "parameter of" in found.help


@pytest.mark.parametrize(
    "body",
    [
        "return detach(w) * x",
        "return c * x",
        "t = w * x; return x",
        "return x if w > 0 else -x",
        "tape t { watch z; q = z**2 * x }; return t.gradient(q, x) * x",
    ],
)
def test_what_the_result_does_not_depend_on_is_no_error(body: str) -> None:
    source = f"var x = 3.0; var w = 2.0; const c = 2.0; z = 1.5; fn f(x) {{ {body} }} backward (dy) {{ return 7 * dy }}; y = f(x)"
    assert evaluate(source, wrt=["x"]).gradients["y"]["x"] == 7.0


def test_an_opaque_function_that_captures_says_both() -> None:
    found = failure("var w = 2.0; opaque fn f(x) { return w * x }; y = f(1.0)")
    assert found.code == "E317"
    assert "make `w` a parameter of `f`" in found.help


# ---- what a rule returns -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("fn f(x) { return x * ones(3) } backward (dy) { return dy }", ["shape (3,)", "`x`", "()"]),
        ("fn f(x) { return sum(x * ones(3)) } backward (dy) { return [dy, dy] }", ["(2,)", "`x`"]),
        ("fn f(x, k = 2.0) { return k * x } backward (dy) { return dy * k }",
            ["`f` has 2 parameters", "[d_x, d_k]"]),
        ("fn f(x, k = 2.0) { return k * x } backward (dy) { return [dy * k] }",
            ["1 gradient", "2 parameters"]),
        ("fn f(x, k = 2.0) { return k * x } backward (dy) { return none }", ["returned none"]),
        ("fn f(x) { return x } backward (dy) { return \"dy\" }", ['the string "dy"', "`x`"]),
        ("fn f(x) { return x } backward (dy) { return {x: dy} }", ["a dict", "`x`"]),
        ("fn g(l) { return l[0] * l[1] } backward (dy) { return dy }; fn f(x) = g([x, x])",
            ["`l`", "a list of 2"]),
        ("fn g(d) { return d.a } backward (dy) { return {b: dy} }; fn f(x) = g({a: x})",
            ["`d`", "a dict of a"]),
        ("fn g(d) { return d.a[1] } backward (dy) { return {a: [none, [dy, dy]]} }; "
         "fn f(x) = g({a: [1.0, x]})", ["`d.a[1]`", "(2,)"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("request_", ["", "; r = grad(f(x), x)"])
def test_what_is_no_gradient_is_an_error(function: str, says: list[str], request_: str) -> None:
    found = failure(f"var x = 2.0; {function}; y = sum(f(x)){request_}")
    assert found.code == "E322"
    assert found.span is not None
    assert found.span.text.startswith("return")
    for part in says:
        assert part in found.message + found.help
    assert found.calls[0].function.startswith("backward ")


def test_an_error_inside_a_rule_is_told_with_its_call() -> None:
    found = failure(
        "fn f(x) {\n    return x\n} backward (dy) {\n    return dy @ x\n}\nvar x = 2.0\ny = f(x)\nd = grad(y, x)"
    )
    assert (found.code, found.span and found.span.line) == ("E304", 4)
    assert [(call.function, call.span.line) for call in found.calls] == [("backward f", 7)]
