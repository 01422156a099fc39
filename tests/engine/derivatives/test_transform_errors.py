"""What goes wrong with transforms: where it is told, in what words, and what to do."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import GradcliError

from ..programs import evaluate, failure, value

ERRORS = [  # the program; code, message, part of the help; the text that the caret is under
    ("g = grad(3.0)",
     "E314", "`grad` of one argument takes a function, and this is float64 3.0",
     "grad(target, sources)", "grad(3.0)"),
    ('g = jvp("f")', "E314", '`jvp` of one argument takes a function, and this is the string "f"',
        "", 'jvp("f")'),
    ("module M() { var w = 2.0 }\nm = M()\ng = grad(m)",
     "E314", "`grad` of one argument takes a function, and this is an instance of `M`", "",
     "grad(m)"),
    ("fn f(x) = x\ng = grad(f, 3.0)", "E314", "the target is a function", "`grad(f)`",
        "grad(f, 3.0)"),
    # what a function gives
    ("fn f(x) = fn(y) = x * y\ng = grad(f)(3.0)", "E314", "the value of `f` is a function",
        "fn(x) = f(x)(…)", "grad(f)(3.0)"),
    ("fn f(x) = grad(fn(y) = x * y)\ng = jvp(f)(3.0, 1.0)", "E314",
        "the value of `f` is a function", "", "jvp(f)(3.0, 1.0)"),
    ("fn f(x) = [x, sin]\ng = jacobian(f)(3.0)", "E314", "the value of `f` is a function", "",
        "jacobian(f)(3.0)"),
    ('fn f(x) = "a"\ng = grad(f)(3.0)', "E314", 'the value of `f` is the string "a"',
        "a number or an array", "grad(f)(3.0)"),
    ("fn f(x) { y = x }\ng = grad(f)(3.0)", "E314", "the value of `f` is none",
        "`f` must `return` numbers", "grad(f)(3.0)"),
    ("g = hvp(fn(x) { })(3.0, 1.0)", "E314", "the value of `fn` is none", "",
        "hvp(fn(x) { })(3.0, 1.0)"),
    ("module M(x) { var w = 2.0 }\ng = grad(M)(1.0)", "E314",
        "the value of `M` is an instance of `M`", "", "grad(M)(1.0)"),
    ("fn f(z) = z**2\ng = grad(f)(2.0j)", "E314", "the value of `f` is complex", "`real` part",
        "grad(f)(2.0j)"),
    ('fn f(z) = z**2\ng = jacobian(f, mode = "forward")(2.0j)',
     "E314", "the value of `f` is complex", "", 'jacobian(f, mode = "forward")(2.0j)'),
    ("fn f(z) = abs(z)\ng = hessian(f)(2.0j)",
     "E314", "there is no Hessian by the source, which is complex", "", "hessian(f)(2.0j)"),
    ("fn f(z) = abs(z)\ng = hvp(f)(2.0j, 1.0)",
     "E314", "there is no Hessian by the source, which is complex", "", "hvp(f)(2.0j, 1.0)"),
    # arguments
    ("fn f(a, b) = a\ng = grad(f)(3.0)", "E308", "`f` needs `b`", "its parameters are `a`, `b`",
        "grad(f)(3.0)"),
    ("fn f(a) = a\ng = grad(f)(3.0, 4.0)", "E308", "`f` takes 1 argument, and 2 are given",
        "its parameter is `a`", "grad(f)(3.0, 4.0)"),
    ("fn f(a) = a\ng = grad(f)(3.0, c = 4.0)", "E308", "`f` has no parameter `c`",
        "its parameter is `a`", "grad(f)(3.0, c = 4.0)"),
    ("fn f(a) = a\ng = grad(f)()", "E308",
        "`grad(f)` differentiates by argument 0, and 0 are given", "", "grad(f)()"),
    ("fn f(a) = a\ng = grad(f, wrt = [0, 2])(3.0)",
     "E308", "`grad(f)` differentiates by argument 2, and 1 is given", "from 0",
     "grad(f, wrt = [0, 2])(3.0)"),
    ("fn f(a) = a\ng = grad(f, wrt = [0, 0])", "E311", "`wrt` is [0, 0]",
        "the position of an argument", "grad(f, wrt = [0, 0])"),
    ("fn f(a) = a\ng = grad(f, wrt = -1)", "E311", "`wrt` is -1", "", "grad(f, wrt = -1)"),
    ('fn f(a) = a\ng = grad(f, wrt = "a")', "E311", "`wrt` is a", "", 'grad(f, wrt = "a")'),
    ("fn f(a) = a\ng = grad(f, wrt = [])", "E311", "`wrt` is []", "", "grad(f, wrt = [])"),
    ('fn f(a) = a\ng = jacobian(f, mode = "backward")',
     "E311", '`mode` is the string "backward"', '"auto", "forward" or "reverse"',
     'jacobian(f, mode = "backward")'),
    ('var x = 1.0\ng = jacobian(x, x, mode = "fast")',
     "E311", '`mode` is the string "fast"', "", 'jacobian(x, x, mode = "fast")'),
    ("var x = 1.0\ng = hessian(x**2, x, mode = 1)", "E311", "`mode` is int64 1", "",
        "hessian(x**2, x, mode = 1)"),
    # vectors
    ("fn f(x) = x\ng = jvp(f)(3.0)", "E308", "`jvp(f)` needs a vector `v`", "`jvp(f)(x, v)`",
        "jvp(f)(3.0)"),
    ("fn f(x) = x\ng = vjp(f)(3.0)", "E308", "`vjp(f)` needs a vector `u`", "`vjp(f)(x, u)`",
        "vjp(f)(3.0)"),
    ("fn f(a, b) = a * b\ng = jvp(f, wrt = [0, 1])(3.0, 4.0, [1.0, 2.0])",
     "E308", "`jvp(f)` with `wrt` takes the vector as a keyword", "`jvp(f)(…, v = …)`",
     "jvp(f, wrt = [0, 1])(3.0, 4.0, [1.0, 2.0])"),
    ("fn f(a, b) = a * b\ng = hvp(f, wrt = 1)(3.0, 4.0, 1.0)",
     "E308", "`hvp(f)` with `wrt` takes the vector as a keyword", "",
     "hvp(f, wrt = 1)(3.0, 4.0, 1.0)"),
    ("fn f(a, b) = a * b\ng = jvp(f, wrt = [0, 1])(3.0, 4.0, v = 1.0)",
     "E314", "the vector is float64 1.0, the argument a list of 2", "structure",
     "jvp(f, wrt = [0, 1])(3.0, 4.0, v = 1.0)"),
    ("fn f(x) = x\ng = jvp(f)(3.0, [1.0, 2.0])",
     "E314", "the vector has shape (2,), the argument ()", "equal", "jvp(f)(3.0, [1.0, 2.0])"),
    ("fn f(x) = x\ng = hvp(f)(array([1.0, 2.0]), 1.0)",
     "E314", "the vector has shape (), the argument (2,)", "equal",
     "hvp(f)(array([1.0, 2.0]), 1.0)"),
    ("fn f(x) = x * [1.0, 2.0]\ng = vjp(f)(3.0, 1.0)",
     "E314", "the vector has shape (), the value (2,)", "equal", "vjp(f)(3.0, 1.0)"),
    ("fn f(x) = {a: x}\ng = vjp(f)(3.0, [1.0])", "E314",
        "the vector is a list of 1, the value a dict", "", "vjp(f)(3.0, [1.0])"),
    ("fn f(x) = {a: x, b: 2.0 * x}\ng = vjp(f)(3.0, {a: 1.0, c: 1.0})", "E314",
        "the vector has the keys `a`, `c`, the value the keys `a`, `b`", "structure",
        "vjp(f)(3.0, {a: 1.0, c: 1.0})"),
    ('fn f(x) = x\ng = jvp(f)(3.0, "a")',
     "E314", 'the vector is the string "a", the argument float64 3.0', "numbers",
     'jvp(f)(3.0, "a")'),
    ("fn f(x) = x\ng = jvp(f)(3.0, none)", "E314", "the vector is none, the argument float64 3.0",
        "", "jvp(f)(3.0, none)"),
    ("fn f(x) = x\ng = jvp(f)(3.0, 1.0j)", "E314", "the vector is complex, the argument real", "",
        "jvp(f)(3.0, 1.0j)"),
    ("var x = 3.0\ng = jvp(x**2, x, [1.0])", "E314", "the vector has shape (1,), the source ()", "",
        "jvp(x**2, x, [1.0])"),
    # batches
    ("g = batch_jacobian(sum)(ones([2, 3]))",
     "E314", "the first axes of target () and source (2, 3) aren't one batch", "",
     "batch_jacobian(sum)(ones([2, 3]))"),
    ("g = batch_jacobian(fn(x) = x[:1])(ones(2))",
     "E314", "the first axes of target (1,) and source (2,) aren't one batch", "",
     "batch_jacobian(fn(x) = x[:1])(ones(2))"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "code", "message", "help", "under"), ERRORS)
def test_errors(program: str, code: str, message: str, help: str, under: str) -> None:
    found = failure(program)
    assert (found.code, found.message) == (code, message)
    assert help in found.help
    assert found.span is not None
    assert found.span.text == under


def test_an_error_inside_is_told_there_with_the_calls_that_led_to_it() -> None:
    found = failure(
        "fn f(x) {\n    return x + [1.0, 2.0, 3.0]\n}\ng = grad(f)\nfn h(x) = sum(g(x))\nd = jvp(h)(ones(2), ones(2))"
    )
    assert (found.code, found.span.text if found.span else "") == ("E302", "x + [1.0, 2.0, 3.0]")
    assert [(call.function, call.span.line, call.span.text) for call in found.calls] == [
        ("f", 5, "g(x)"),
        ("h", 6, "jvp(h)(ones(2), ones(2))"),
    ]


def test_a_function_without_a_gradient_is_told_where_the_transform_is_called() -> None:
    source = "opaque fn f(x) { return x**2 }\nfn h(x) {\n    return 2 * f(x)\n}\ng = grad(h)(3.0)"
    found = failure(source)
    assert (found.code, found.span.text if found.span else "") == ("E317", "grad(h)(3.0)")
    assert found.label == "the way back goes through <source>:3:16, in `h` called at <source>:5:5"


@pytest.mark.parametrize(
    "call", ["grad(fn(x) = f(x))(x)", "jvp(fn(x) = f(x))(x, 1.0)", "hessian(fn(x) = f(x))(x)"]
)
def test_transforms_nest_to_a_bounded_depth(call: str) -> None:
    found = failure(f"fn f(x) = {call}\ny = f(1.0)")
    assert (found.code, found.exit_code) == ("E406", 4)
    assert "2000 calls are inside each other" in found.label


def test_depth_and_levels_are_restored_after_an_error() -> None:
    source = """
var w = 2.0
fn f(x) { return x + [1.0, 2.0][x > 0] if x > 0 else w * x**2 }
fn g(x) = x * "a"
expect error "doesn't take" { y = grad(fn(x) = jvp(g)(x, 1.0))(2.0) }
expect error "doesn't take" { y = jvp(fn(x) = grad(g)(x))(2.0, 1.0) }
expect error "doesn't take" { pause { y = hessian(g)(2.0) } }
d = grad(fn(x) = jvp(fn(y) = w * y**3)(x, 1.0))(2.0)
output d, grad(d, w)
"""
    assert list(evaluate(source, grad=False).outputs.values()) == [24.0, 12.0]


def test_an_error_in_the_function_is_caught_outside_only() -> None:
    with pytest.raises(GradcliError, match="E304"):
        evaluate("g = grad(fn(x) = sum(inv(x)))(zeros([2, 2]))")
    assert value(
        'fn f(x) { expect error "singular" { y = inv(x * 0.0) }; return sum(x) }\noutput grad(f)(ones([2, 2]))'
    ).tolist() == [
        [1.0, 1.0],
        [1.0, 1.0],
    ]
