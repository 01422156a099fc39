"""Modules: what can't be done, and what the message says."""

from __future__ import annotations

import pytest

from ..programs import evaluate, failure
from .module_programs import LINE


@pytest.mark.parametrize(
    ("program", "code", "message", "help"),
    [
        ("m.k", "E309", "an instance of `M` has no member `k`", ""),
        ("m.Kind", "E309", "an instance of `M` has no member `Kind`", "did you mean `kind`?"),
        ("m.trainable", "E309", "an instance of `M` has no member `trainable`", ""),
        ("m.sum()", "E309", "an instance of `M` has no member `sum`", ""),
        (
            "m.late",
            "E309",
            "`late` has no value in this instance of `M`",
            "no statement that assigns it was executed",
        ),
        (
            "m.kind = 3",
            "E312",
            "the members of an instance of `M` can't be assigned",
            "declare it with `var` in `M`",
        ),
        (
            "m.w = 3.0",
            "E312",
            "the members of an instance of `M` can't be assigned",
            "`w` is a variable, and updated with `:=`",
        ),
        (
            "m.w[0] = 3.0",
            "E312",
            "the members of an instance of `M` can't be assigned",
            "updated with `:=`",
        ),
        (
            "m.w += 3.0",
            "E312",
            "the members of an instance of `M` can't be assigned",
            "updated with `:=`",
        ),
        (
            "m[0] = 3.0",
            "E312",
            "the members of an instance of `M` can't be assigned",
            "declare it with `var` in `M`",
        ),
        (
            "m.kind := 3",
            "E312",
            "`:=` updates a variable, and this is int64 1",
            "declare it with `var`",
        ),
        (
            "m(1.0)",
            "E308",
            "an instance of `M` can't be called: `M` defines no `call`",
            "write `fn call(…)` in the module",
        ),
        ("m.f(1.0, 2.0)", "E308", "`f` takes 1 argument, and 2 are given", ""),
        ("M.w", "E309", "the module `M` has no member `w`", ""),
        ("m + 1", "E301", "`+` doesn't take an instance of `M`", ""),
        ("sin(m)", "E301", "`sin` doesn't take an instance of `M`", ""),
        (
            "grad(m.f(1.0), m)",
            "E314",
            "the source is an instance of `M`",
            "differentiate by its `trainable_variables`",
        ),
        (
            "grad(m, m.w)",
            "E314",
            "the target is an instance of `M`",
            "a target is a number or an array",
        ),
        (
            "watch m",
            "E312",
            "an instance of `M` can't be watched",
            "watch its `trainable_variables`",
        ),
        ("if m { }", "E310", "a condition needs one bool, and this is an instance of `M`", ""),
        (
            "var n = M()",
            "E312",
            "the state of a variable can't hold an instance of `M`",
            "write `n = …`",
        ),
        (
            "frozen n = [1.0, M()]",
            "E312",
            "the state of a variable can't hold an instance of `M`",
            "write `n = …`",
        ),
        ("m.w := m", "E312", "the state of a variable can't be an instance of `M`", ""),
        ("f = M; f(1)", "E308", "`M` takes 0 arguments, and 1 are given", ""),
        ("module R() { r = R() }; R()", "E406", "`R` calls itself too deep", ""),
    ],
)
def test_errors(program: str, code: str, message: str, help: str) -> None:
    module = (
        "module M() { var w = ones(2); kind = 1; if kind > 1 { late = 2 }; fn f(x) = x * w[0] }\n"
    )
    error = failure(f"{module}m = M()\n{program}")
    assert (error.code, error.message) == (code, message)
    assert help in error.help


def test_values_are_shown_and_described() -> None:
    evaluation = evaluate(f"{LINE}m = Line(2.0)\nprint m, Line, [m], m.trainable_variables")
    assert evaluation.printed == [
        "<an instance of `Line`> <the module `Line`> [<an instance of `Line`>] [2.0]"
    ]


def test_an_error_in_a_body_is_told_with_the_call() -> None:
    error = failure("module M(n) { var w = ones(n) + ones(3) }\nm = M(2)")
    assert error.code == "E302"
    assert [call.function for call in error.calls] == ["M"]
