"""Values that are thrown away, and functions without one whose value is used."""

from __future__ import annotations

import pytest

from ..programs import evaluate

HEAD = "var x = 1.0; var w = [3.0, 1.0]; l = [x, 2.0]; fn f(a) = a*2; fn say(a) { print a }\n"


def warnings(source: str) -> list[tuple[str, str, str]]:
    """The code, place and fix of each warning about what is thrown away."""
    found = evaluate(source, grad=False).diagnostics
    return [
        (d.code, d.span.text, d.help)
        for d in found
        if d.code in ("W206", "W207") and d.span is not None
    ]


@pytest.mark.parametrize(
    ("statement", "help"),
    [
        ("x + 1", "give it a name (`y = x + 1`), `print` it, or leave it out"),
        ("l.append(3.0)", "values never change: write `l = l.append(3.0)`, or leave it out"),
        ("append(l, 3.0)", "give it a name"),
        ("sort(w)", "give it a name"),
        ("w.reshape(2, 1)", "write `w = w.reshape(2, 1)`"),
        ("x == 2", "write `expect x == 2` to state it"),
        ("x <- 2", "write `x = 2` to assign; `<-` compares with a negative value"),
        ("x", "give it a name"),
        ("w[0]", "give it a name"),
        ("grad(x**2, x)", "give it a name"),
        ("x if x > 0 else w", "give it a name"),
        ("[x, w]", "give it a name"),
        ("x > 0 and x < 3", "give it a name"),
    ],
)
def test_a_statement_that_is_only_a_value(statement: str, help: str) -> None:
    places = {
        "at the top": f"{statement}; y = x",
        "in a branch": f"if x > 0 {{ {statement} }}; y = x",
        "in a loop": f"for i in range(2) {{ {statement}; z = i }}; y = x",
        "behind the output": f"output x; {statement}",
        "in a function": f"fn g(a) {{ {statement}; return a }}; y = g(x)",
        "in a branch not taken": f"if x > 5 {{ {statement} }}; y = x",
    }
    for place, source in places.items():
        ((code, text, said),) = warnings(HEAD + source)
        assert (code, text) == ("W206", statement), place
        assert help in said, place


@pytest.mark.parametrize(
    "statements",
    [
        "say(x); y = x",
        "f(x); y = x",  # which may do more than compute
        "x.say(); y = x",
        '"what this is about"; y = x',
        "y = x; sin(x)",  # the result
        'expect error "string" { x + "a" }; y = x',
        "attach_grad(w); record { z = sum(w**2) }; backward(z); y = w.grad",
        "tape t (persistent = true) { z = x**2 }; t.reset(); y = x",
        "watch(w); y = x",
        "module M(a) { fn norm(b) { print b } }; m = M(1.0); m.norm(2.0); y = x",
    ],
)
def test_what_does_something_or_is_used(statements: str) -> None:
    assert warnings(HEAD + statements) == []


@pytest.mark.parametrize(
    ("body", "help"),
    [
        ("b = a*2", "write `return b` at its end"),
        ("a*2", "write `return a*2`"),
        ("if a > 2 { return a }", "write `return …` at its end"),
        ("if a > 2 { return a } else { b = a }", "write `return …` at its end"),
        ("if a > 2 { return a }; b = a", "write `return b` at its end"),
        ("for i in range(3) { if a > 2 { return a } }; b = a", "write `return b` at its end"),
        ("print a", "write `return …` at its end"),
    ],
)
@pytest.mark.parametrize(
    "use",
    ["y = g(x)", "output g(x)", "print g(x)", "y = [g(x)]", "fn h(a) { return g(a) }; y = h(x)"],
)
def test_a_function_that_ends_without_return(body: str, help: str, use: str) -> None:
    ((code, _, said),) = warnings(f"var x = 1.0; fn g(a) {{ {body} }}; {use}")
    assert (code, said) == ("W207", help)


@pytest.mark.parametrize(
    "body",
    [
        "return a",
        "if a > 2 { return a }; return 2.0",
        "if a > 2 { return a } else { return 2.0 }",
        "if a > 2 { return a } elif a > 1 { return 3.0 } else { pause { return 2.0 } }",
        "while true { a = a + 1; if a > 5 { return a } }",
        "if a > 2 { return a }; while true { a = a + 1; if a > 5 { return a } }",
    ],
)
def test_a_function_that_returns(body: str) -> None:
    assert warnings(f"var x = 1.0; fn g(a) {{ {body} }}; y = g(x)") == []


def test_a_function_that_is_only_run() -> None:
    assert warnings("var x = 1.0; fn g(a) { print a }; g(x); y = x") == []
