"""`check` proves or fails: it is never green for what no independent method has confirmed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import Source
from gradcli.report.checks import problem_of, proved, summary
from gradcli.tasks.check.checking import check, check_file
from gradcli.tasks.check.point import Case
from gradcli.tasks.check.results import METHODS, Check, CheckOptions, nothing_in_all
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from ..engine.random_programs import RELAXED

WITHOUT_SYMPY = ("forward", "complex", "differences", "taylor")
WRONG = "fn f(x) { return x**2 } backward (dy) { return 5 * x * dy }\n"


def run(text: str, **options: Any) -> Check:
    options.setdefault("methods", WITHOUT_SYMPY)
    return check(parse_program(Source("<test>", text)), {}, CheckOptions(**options))


def verdicts(found: Check) -> dict[str, str]:
    return {result.variable: result.verdict for result in found.results}


def codes(found: Check) -> list[str]:
    problems = [problem_of(found, result) for result in found.results]
    return [problem.code for problem in problems if problem is not None]


# ---- what isn't finite ---------------------------------------------------------------------------

NONFINITE = {
    "var x = -2.0; y = log(x)": "`y` is nan",
    "var x = 0.0; y = log(x)": "`y` is -inf",
    "var x = 1000.0; y = exp(x)": "`y` is inf",
    "var x = 2.0; y = x**2 + log(-1.0)": "`y` is nan",
    WRONG + "var x = 2.0; y = f(x) + log(-1.0)": "`y` is nan",
    WRONG + "var x = 2.0; y = f(x) * inf": "`y` is inf",
    "var x = [1.0, -1.0, 2.0]; output y = log(x)": "`y`[1] is nan",
    "var x = [1.0, 2.0]; output y = [x[0], log(-x[1])]": "`y` is nan",
    "var x = 0.0; y = sqrt(x)": "the gradient is inf",
    "var x = [1.0, 0.0]; y = sum(sqrt(x))": "the gradient is inf",
    "fn f(x) { return abs(x) } backward (dy) { return dy * x / abs(x) }\nvar x = 0.0; y = f(x)": "the gradient is nan",
    "fn f(x) { return x**2 } backward (dy) { return dy * 2 * x * where(x == 2.0, nan, 1.0) }\nvar x = 2.0; y = f(x)": "nan",
    "fn f(x) { return x**2 } backward (dy) { return dy / 0.0 }\nvar x = [2.0, 1.0, 0.0, 3.0, 4.0]; y = sum(f(x))": "is inf",
    "var x = 1e200; y = x * 1e200": "`y` is inf",
}


@pytest.mark.parametrize(
    "methods", [tuple(METHODS), WITHOUT_SYMPY, ("sympy",), ("forward",), ("taylor",)]
)
@pytest.mark.parametrize("text", NONFINITE, ids=lambda text: text[-40:])
def test_what_is_not_finite_fails(text: str, methods: tuple[str, ...]) -> None:
    found = run(text, methods=methods)
    assert verdicts(found) == {"x": "nonfinite"}
    assert codes(found) == ["E610"]
    assert NONFINITE[text] in found.results[0].reasons[0]
    assert (found.counts(), found.exit_code) == ((0, 1, 0), 1)
    allowed = run(text, methods=methods, nonfinite=True)
    assert verdicts(allowed) == {"x": "allowed"}
    assert allowed.counts() == (0, 0, 1)
    assert allowed.exit_code == 1  # nothing was verified


@pytest.mark.parametrize("order", [1, 2])
def test_other_gradients_are_verified_beside_it(order: int) -> None:
    found = run("var x = 0.0; var k = 2.0; y = sqrt(x) + k**3", order=order)
    assert {r.variable: r.verdict for r in found.results if r.order == 1} == {
        "x": "nonfinite",
        "k": "verified",
    }
    assert {r.verdict for r in found.results if r.order == 2} <= {"verified"}
    assert found.exit_code == 1


def test_an_output_that_is_not_finite_fails_even_without_a_gradient() -> None:
    found = run("var x = 2.0; output y = x**2; output z = detach(x) * 0.0 / 0.0")
    assert {(r.output, r.variable): r.verdict for r in found.results} == {
        ("y", "x"): "verified",
        ("z", ""): "nonfinite",
    }
    assert found.exit_code == 1


@pytest.mark.parametrize(
    "output",
    [
        "y = grad(sqrt(x - 2.0), x)",
        "y = int64(x) / 0",
        "y = {a: [log(-x), 1.0], b: none}",
        "y = [x > 0, log(-x)]",
    ],
)
def test_so_does_an_output_that_gets_no_gradient_unasked(output: str) -> None:
    text = f"var x = 2.0; output z = x**2; output {output}"
    found = run(text)
    assert "nonfinite" in {r.verdict for r in found.results if r.output == "y"}
    assert found.exit_code == 1
    assert run(text, nonfinite=True).exit_code == 0
    assert run(text, run=Options(of=("z",), mode="reverse")).exit_code == 0


@pytest.mark.parametrize("output", ["z = log(int64(x) - 1.0)", "z = grad(h(x), x)"])
def test_and_one_that_is_not_finite_at_a_random_point(output: str) -> None:
    rule = (
        "fn h(a) { return a**2 } backward (dy) { return dy * 2 * a * where(a < 2.0, nan, 1.0) }\n"
    )
    text = f"{rule}var x = 2.0 in (0.5, 3.0); output y = x**2; output {output}"
    assert run(text).exit_code == 0
    found = run(text, points=6)
    assert {r.output: r.verdict for r in found.results if r.output in "yz"} == {
        "y": "verified",
        "z": "nonfinite",
    }


def test_it_fails_at_random_points_too() -> None:
    found = run("var x = 2.0 in (-3.0, 3.0); y = log(x)", points=8)
    (result,) = found.results
    assert result.verdict == "nonfinite"
    assert result.verdicts[0] == "verified"
    assert set(result.verdicts.values()) == {"verified", "nonfinite"}
    problem = problem_of(found, result)
    assert problem is not None
    assert "at point" in problem.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("var x = 0.0; y = log(x)", "expect y == -inf"),
        ("var x = 0.0; y = log(x)", "expect y ~= -inf"),
        ("var x = -1.0; y = log(x)", "expect y ~= nan"),
        ("var x = 0.0; output y = log(x)", "expect log(x) ~= -inf"),
        ("var x = [0.0, 1.0]; output y = log(x)", "expect log(x) ~= [-inf, 0.0]"),
        ("var x = 0.0; y = sqrt(x)", "expect grad(y, x) == inf"),
        ("var x = 0.0; y = sqrt(x)", "expect inf == grad(y, x)"),
        ("var x = 0.0; y = sqrt(x); g = grad(y, x)", "expect g ~= inf; output y"),
    ],
)
def test_a_program_may_say_that_it_is_meant(text: str, said: str) -> None:
    found = run(f"{text}; {said}")
    assert {r.verdict for r in found.results if r.variable} == {"allowed"}
    assert found.counts()[:2] >= (1, 0)
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("var x = 0.0; y = log(x)", "expect y < 0.0"),  # which says nothing of an infinity
        ("var x = 0.0; y = log(x)", "expect y == inf"),  # and fails
        ("var x = 0.0; y = sqrt(x)", "expect y == 0.0"),
        (
            "var x = 1000.0; y = exp(x)",
            "z = 1.0 / 0.0; expect z == inf; output y",
        ),  # of another value
        ("var x = 0.0; var k = 0.0; y = sqrt(x) + sqrt(k)", "expect grad(y, k) == inf"),
    ],
)
def test_only_what_a_program_says_is_meant(text: str, said: str) -> None:
    found = run(f"{text}; {said}")
    assert "nonfinite" in verdicts(found).values()
    assert found.exit_code == 1


# ---- rules that aren't linear --------------------------------------------------------------------

NONLINEAR = {
    "dy * 2 * x + [0.0, 0.0, 1e-3]": "for a cotangent of 0 it gives 0.001",
    "dy * 2 * x + 1e-12": "for a cotangent of 0",
    "clip(dy, -50.0, 50.0) * 2 * x": "for 1024 times a cotangent",
    "clip(dy, -1e-2, 1e-2) * 2 * x": "times a cotangent",
    "dy * abs(dy) * 2 * x": "times a cotangent",
    "abs(dy) * 2 * x": "for the negative of a cotangent",
    "maximum(dy, 0.0) * 2 * x": "for the negative of a cotangent",
    "dy * 0.5 / maximum(norm(dy), 0.5) * 2 * x": "times a cotangent",
    "dy * 2 * x + 1e-6 * dy**2": "times a cotangent",
    "norm(dy) * 2 * x": "for the negative of a cotangent",
}


@pytest.mark.parametrize("rule", NONLINEAR)
def test_a_rule_that_is_not_linear_is_wrong(rule: str) -> None:
    """Also where it is right for the cotangents that a check has."""
    found = run(
        f"fn f(x) {{ return x**2 }} backward (dy) {{ return {rule} }}\nvar v = [1.0, 2.0, 3.0]; y = sum(f(v))"
    )
    assert verdicts(found)["v"] == "wrong"
    assert any(f.method == "linear" and NONLINEAR[rule] in f.reason for f in found.findings)
    assert found.exit_code == 1
    assert {b.operation for b in found.blamed} == {"f"}


@pytest.mark.parametrize(
    "asks", ["g = grad(sum(f(v)), v)", "tape t { y = sum(f(v)) }; g = t.gradient(y, v)"]
)
def test_so_it_is_behind_the_derivatives_that_a_program_asks_for(asks: str) -> None:
    rule = "clip(dy, -50.0, 50.0) * 2 * x"
    found = run(
        f"fn f(x) {{ return x**2 }} backward (dy) {{ return {rule} }}\nvar v = [1.0, 2.0]; {asks}; output g"
    )
    assert verdicts(found) == {"": "wrong"}
    assert found.exit_code == 1


linear = st.sampled_from(
    [
        "dy * 2 * x",
        "2 * x * dy",
        "sum(dy) * x",
        "flip(dy) * x",
        "dy @ outer(x, x)",
        "solve(eye(3) * 2, dy)",
    ]
)


@settings(RELAXED, max_examples=30)
@given(
    st.lists(linear, min_size=1, max_size=3),
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.integers(-300, 300),
)
def test_linear_rules_are(terms: list[str], values: list[float], power: int) -> None:
    rule = " + ".join(f"({term})" for term in terms)
    text = f"fn f(x) {{ return x**2 }} backward (dy) {{ return {rule} }}\nvar v = {values}; y = {10.0**power!r} * sum(f(v))"
    assert not any(f.method == "linear" for f in run(text, methods=("forward",)).findings)


# ---- nothing verified is no success --------------------------------------------------------------

NOTHING = {
    "var x = 2; y = x**2": "`x` is the int 2: write `2.0`",
    "var x = true; y = x": "`x` is bool",
    "var x = 2": "there is no output",
    "var x = 2.0; print x": "there is no output",
    "var x = 2.0; y = detach(x) * 3": "the chain is cut by `detach`",
    "fn f(x) { return round(x) } backward (dy) { return dy }; var x = 2.2; y = f(x)": "on purpose",
    "opaque fn f(x) { return x**2 }\nbackward f(dy, x) { return 2 * x * dy }\nvar x = 2.0; y = f(x)": "confirmed",
}


@pytest.mark.parametrize("text", NOTHING)
def test_nothing_verified_is_no_success(text: str) -> None:
    found = run(text, methods=("forward", "complex") if "opaque" not in text else ("forward",))
    assert found.counts()[:2] == (0, 0)
    assert found.exit_code == 1
    assert found.nothing is not None
    assert found.nothing.code == "E611"
    if "opaque" not in text:
        assert NOTHING[text] in found.nothing.message


def test_forward_mode_alone_leaves_a_gradient_undecided() -> None:
    found = run("var x = 0.7; y = sin(x)", methods=("forward",))
    assert verdicts(found) == {"x": "undecided"}
    assert found.exit_code == 1


def test_a_program_without_variables_is_passed_over_among_others() -> None:
    library, right = run("fn f(x) = x**2"), run("var x = 2.0; y = x**2")
    assert (library.exit_code, right.exit_code) == (0, 0)
    assert nothing_in_all([library, right]) is None
    said = nothing_in_all([library, library])
    assert said is not None
    assert "declares no variable" in said.message


def test_an_expectation_that_holds_is_something() -> None:
    found = run("x = 2.0; expect x == 2.0")
    assert (found.counts(), found.exit_code) == ((1, 0, 0), 0)


# ---- what share was proved -----------------------------------------------------------------------


def test_what_share_was_proved() -> None:
    text = "var x = 0.0; var n = 3; var k = 2.0; y = abs(x) + n * k"
    found = run(text)
    assert verdicts(found) == {"x": "kink", "k": "verified", "n": "undecided"}
    assert (
        proved([found])
        == "1 of 3 gradients verified by independent methods, 1 at a kink, 1 undecided"
    )
    assert summary([found]) == "2 passed, 0 failed, 1 skipped"
    assert found.exit_code == 0
    assert run(text, strict=True).counts() == (2, 1, 0)
    assert run(text, lenient=False).counts() == (1, 1, 1)
    assert run(text, strict=True, lenient=False).exit_code == 1


def test_how_many_digits() -> None:
    assert (run("var x = 0.7; y = sin(x) * exp(x)").results[0].digits or 0) >= 10
    assert (
        run("var x = 0.7; y = sin(x) * exp(x)", methods=("differences",)).results[0].digits or 0
    ) >= 8
    ill = run("var x = 1.3; a = x * 1e10; b = x * (1e10 + 1.0); y = b - a").results[0]
    assert ill.verdict == "verified"
    assert 3 <= (ill.digits or 0) <= 7


# ---- kinks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (
            "fn h(a) { return abs(a) } backward (dy) { return dy * sign(a) }; var x = 0.0; y = h(x)",
            "kink",
        ),
        (
            "fn h(a) { return relu(a) } backward (dy) { return dy * (a > 0) }; var x = 0.0; y = h(x)",
            "kink",
        ),
        (
            "fn h(a) { return max(a) } backward (dy) { return dy * (a == max(a)) }; var x = [1.0, 1.0, 0.5]; y = h(x)",
            "kink",
        ),
        (
            "fn h(a) { return abs(a) } backward (dy) { return dy * where(a == 0, 7.0, sign(a)) }; var x = 0.0; y = h(x)",
            "wrong",
        ),
        (
            "fn h(a) { return relu(a) } backward (dy) { return dy * 0.5 }; var x = 0.0; y = h(x)",
            "wrong",
        ),
        (
            "fn h(a) { return abs(a) } backward (dy) { return dy * sign(a) * 1.001 }; var x = 0.0; y = h(x)",
            "wrong",
        ),
        (
            "fn h(a) { return abs(a) } backward (dy) { return dy * sign(a) * 1.001 }; var x = arange(5.0); y = sum(h(x))",
            "wrong",
        ),
        (
            "fn h(a) { return a**2 } backward (dy) { return 2 * a * dy * (1 + 1e-8) }; var x = 0.5; y = h(x) + abs(x - 0.5)",
            "wrong",
        ),
        (
            "var x = 0.0; y = relu(x) - relu(-x)",
            "wrong",
        ),  # which is x: the conventions don't add up
        ("var x = 0.0; y = abs(x) * sign(x)", "wrong"),
        (
            "var x = 0.0; y = relu(x) + minimum(x, 0.0)",
            "wrong",
        ),  # relu'(0) = 0, and a tie shares: 0.5
        ("var x = 0.0; y = maximum(x, 0.0) + minimum(x, 0.0)", "verified"),
        ("var x = [0.0, 0.0]; y = norm(x)", "kink"),
        ("var x = 0.0; y = where(x > 0, sqrt(x), 0.0)", "kink"),
        ("var x = 1.0; y = maximum(x, x)", "verified"),
        ("var x = 2.0; y = floor(x) * x", "kink"),
    ],
)
def test_at_a_kink_a_gradient_lies_between_the_slopes_and_is_right_beside(
    text: str, verdict: str
) -> None:
    found = run(text, methods=tuple(METHODS))
    assert verdicts(found) == {"x": verdict}
    assert found.exit_code == (1 if verdict == "wrong" else 0)
    assert run(text, lenient=False).exit_code == (0 if verdict == "verified" else 1)


# ---- random points -------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "program",
    [
        "var x = 1.0 in (0.5, 3.0); mine = 3 * x; expect mine ~= grad(x**3, x)",
        "var x = 1.0 in (0.5, 3.0); y = x**2; expect y == 1.0",
        "var x = 1.0 in (0.5, 3.0); frozen s = 0.0; s := x; y = x * s; expect y ~= x",
        "fn f(v) { expect v < 1.5; return v**2 }; var x = 1.0 in (0.5, 3.0); y = f(x)",
    ],
)
def test_expectations_are_evaluated_at_every_point(program: str, order: int) -> None:
    assert run(program).exit_code == 0
    found = run(program, points=5, order=order)
    assert found.exit_code == 1
    failed = [e for e in found.expectations if not e.passed]
    assert any("at point" in e.message for e in failed)
    assert len({e.line for e in failed}) == 1


ELSEWHERE = (
    "fn h(a) { return a**2 } backward (dy) { return dy * 2 * a * where(a > 2.0, 1.01, 1.0) }\n"
)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "program",
    [
        "var x = 1.5 in (0.5, 3.0); y = h(x)",
        "var x = 1.5 in (0.5, 3.0); y = grad(h(x), x)",
        "var x = 1.5 in (0.5, 3.0); y = grad(h)(x) * x",
        "var x = 1.5 in (0.5, 3.0); tape t { z = h(x) }; y = t.gradient(z, x)",
        "var x = [1.5, 1.0] in (0.5, 3.0); y = jacobian(h)(x)",
        "frozen s = 1.5 in (0.5, 3.0); var k = 1.0; y = h(s * k)",
        "module M() { const top = 3.0; var w = 1.5 in (0.5, top); fn call(v) = h(w) * v }; m = M(); y = m(2.0)",
        "module M() { var w = 1.5 in (0.5, 3.0); fn call(v) = h(w) * v }; m = [M(), M()]; y = m[1](2.0)",
    ],
)
def test_a_rule_that_is_wrong_elsewhere_is_found_at_a_point(program: str, order: int) -> None:
    assert run(ELSEWHERE + program).exit_code == 0
    found = run(ELSEWHERE + program, points=12, order=order)
    assert found.exit_code == 1
    problem = next(p for r in found.results if (p := problem_of(found, r)) is not None)
    assert problem.code == "E602"
    assert "at point" in problem.message
    right = ELSEWHERE.replace("1.01", "1.0") + program
    assert run(right, points=12, order=order).exit_code == 0


def test_domains_of_imports(tmp_path: Path) -> None:
    (tmp_path / "other.tg").write_text(ELSEWHERE + "var w = 1.5 in (0.5, 3.0)")
    (tmp_path / "main.tg").write_text('import "other.tg" as other\ny = other.h(other.w)')
    found = check_file(
        str(tmp_path / "main.tg"), None, {}, CheckOptions(points=12, methods=WITHOUT_SYMPY)
    )
    assert {name for point in found.points for name in point} == {"other.w"}
    assert found.exit_code == 1


def test_expectations_that_hold_everywhere_hold() -> None:
    found = run(
        "var x = 1.0 in (0.5, 3.0); y = x**3; expect grad(y, x) ~= 3 * x**2", points=5, order=2
    )
    assert found.exit_code == 0
    assert found.counts()[1] == 0


@pytest.mark.parametrize("asked", ["grad(x**3, x)", "grad(fn(q) = q**3)(x)"])
def test_a_claim_of_a_derivative_is_differentiated_at_second_order(asked: str) -> None:
    wrong, right = (
        f"var x = 1.0; mine = {mine}; expect mine ~= {asked}" for mine in ("3 * x", "3 * x**2")
    )
    assert run(wrong).exit_code == run(right).exit_code == run(right, order=2).exit_code == 0
    found = run(wrong, order=2)
    assert found.exit_code == 1
    assert (
        "holds here alone: the derivative of its left side by `x` is 3.0, of its right side 6.0"
        in found.expectations[-1].message
    )
    assert (
        run(f"var x = 2.0; y = x**3; expect {asked} ~= 12.0", order=2).exit_code == 0
    )  # a number says nothing around


# ---- gradients that there aren't -----------------------------------------------------------------


@pytest.mark.parametrize("use", ["sinh(x)", "x", "where(k > 0, x, 1.0)", "sum([x, x])"])
def test_a_gradient_that_reverse_mode_loses_is_wrong(
    monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    text = f"var x = 0.5; var k = 2.0; y = {use} + k**2"
    assert run(text).exit_code == 0
    gradients = Case.gradients.func
    lossy = cached_property(lambda case: {k: g for k, g in gradients(case).items() if k != "x"})
    lossy.__set_name__(Case, "gradients")
    with monkeypatch.context() as patch:
        patch.setattr(Case, "gradients", lossy)
        found = run(text)
    assert verdicts(found) == {"x": "wrong", "k": "verified"}
    assert found.exit_code == 1


def test_a_gradient_that_is_cut_on_purpose_is_told() -> None:
    found = run("var x = 0.5; var k = 2.0; y = detach(x) + k**2")
    assert (verdicts(found), found.exit_code) == ({"k": "verified"}, 0)
    assert found.missing == ["no gradient of `y` with respect to `x`: the chain is cut by `detach`"]


def test_outputs_that_depend_on_other_variables_are_no_gap() -> None:
    found = run("var x = 2.0; var k = 3.0; output y = x**2; output z = k**3")
    assert found.counts() == (2, 0, 0)
    assert found.missing == []


# ---- the program as a whole ----------------------------------------------------------------------

LONG = "var x = [0.1, 0.2]; s = 1.0; for i in range(800) { s = s * 0.999 + 0.01 * sin(x[0] * s) + x[1] * 1e-3 }; y = s"


@contextmanager
def another_program(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The program gives something else where it is run as it is, and not along its trace."""
    rerun = Case.rerun
    with monkeypatch.context() as patch:
        patch.setattr(
            Case, "rerun", lambda case, *moves: rerun(case, *moves) + sum(h for _, h in moves)
        )
        yield


def test_a_trace_that_lacks_something_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(LONG).exit_code == 0
    with another_program(monkeypatch):
        found = run(LONG)
    assert verdicts(found) == {"x": "wrong"}
    assert {f.method for f in found.findings if f.verdict == "disagree"} == {"whole"}


# ---- floats --------------------------------------------------------------------------------------


@settings(RELAXED, max_examples=100)
@given(
    st.floats(-1e150, 1e150),
    st.floats(-1e150, 1e150),
    st.sampled_from(["a * x", "a + x", "a * x**2", "sin(a * x)", "x / a"]),
)
def test_no_verdict_without_a_finite_comparison(a: float, x: float, formula: str) -> None:
    """Whatever the sizes: a gradient that is wrong by half of it is never verified."""
    text = f"fn f(v) {{ return v }} backward (dy) {{ return 1.5 * dy }}\nvar x = {x!r}\na = {a!r}\ny = f({formula})"
    found = run(text)
    gradient = next((f.ours for f in found.findings if f.method in METHODS), 0.0)
    if gradient and math.isfinite(gradient):
        assert "verified" not in verdicts(found).values()


# ---- numbers of very different sizes -------------------------------------------------------------

SIZES = {
    "one small among large": [1e6, 1.0, 1e-6, 2.0, 3.0, 0.0, 1e-3, 1e3],
    "falling": [10.0**-k for k in range(0, 12, 2)],
    "rising": [10.0**k for k in range(0, 12, 2)],
    "many": [0.1 * k - 3.03 for k in range(1, 100)],
}


@pytest.mark.parametrize(
    "f", ["h(x)", "sin(h(x) / max(x)**2)", "h(x) * 10.0**-(arange(x.size) * 0.1)"]
)
@pytest.mark.parametrize("sizes", SIZES)
def test_no_element_hides_behind_larger_ones(sizes: str, f: str) -> None:
    """A change of any element by more than 1e-9 of the largest is found."""
    values = SIZES[sizes]
    n = len(values)

    def program(k: int, factor: float) -> str:
        rule = f"dy * 2 * a * where(arange({n}) == {k}, {factor}, 1.0)"
        return f"fn h(a) {{ return a**2 }} backward (dy) {{ return {rule} }}\nvar x = {values}\ny = sum({f})\noutput y"

    right = parse_program(Source("<test>", program(0, 1.0)))
    assert verdicts(run(program(0, 1.0))) == {"x": "verified"}
    gradient = abs(evaluate(right, {}, Options(mode="reverse")).gradients["y"]["x"])
    for k in range(0, n, max(n // 6, 1)):
        if gradient[k] > 1e-8 * gradient.max():
            found = run(program(k, 1.5))
            assert verdicts(found) == {"x": "wrong"}, k
            assert found.exit_code == 1


def test_a_small_element_is_named() -> None:
    rule = "dy * 2 * a * where(arange(8) == 4, 1.5, 1.0)"
    found = run(
        f"fn h(a) {{ return a**2 }} backward (dy) {{ return {rule} }}\nvar x = {SIZES['one small among large']}\ny = sum(h(x))"
    )
    (wrong,) = [f for f in found.findings if f.verdict == "disagree"]
    assert (wrong.method, wrong.where, wrong.ours, wrong.theirs) == (
        "complex",
        "[4]",
        9.0,
        pytest.approx(6.0),
    )


@pytest.mark.parametrize("at", [1e5, 1e8, 3e9, 3e11, 3e14, 1e15, 3e17, 1e300])
def test_where_steps_are_too_large_is_no_kink(at: float) -> None:
    text = "fn h(a) {{ return 3 * a }} backward (dy) {{ return {rule} * dy }}\nvar x = {at!r}\ny = sin(h(x))"
    right, wrong = (run(text.format(rule=rule, at=at)) for rule in ("3", "3 * (1 + 1e-8)"))
    assert (verdicts(right), right.kinks) == ({"x": "verified"}, [])
    assert verdicts(wrong) == {"x": "wrong"}


@pytest.mark.parametrize(
    "program",
    [
        "var x = 1.085643453064737; output q = sin(acosh(1.0 + 1e-10 * (2.0 + sin(x))) * 1e4)",
        # 1 - tanh² cancels in 50 digits
        "var x = 0.5230723105808477; output q = tanh(exp(20.0 * tanh((1.5 + sin(x)))))",
    ],
)
def test_sympy_is_asked_for_as_many_digits_as_it_takes(program: str) -> None:
    assert not [
        f for f in run(program, methods=("complex", "sympy")).findings if f.verdict == "disagree"
    ]
