"""`check` proves or fails: it is never green for what no independent method has confirmed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.diagnostics import Source
from gradcli.report.checks import proved, summary
from gradcli.tasks.check.point import Case
from gradcli.tasks.check.results import METHODS, nothing_in_all
from gradcli.tasks.evaluate import evaluate
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from ..engine.derivatives.random_programs import RELAXED
from .checks import run
from .proofs import verdicts

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
    'var x = 2.0; y = [x, "a"]': '`y` has no gradient: it holds the string "a"',
    "var x = 2.0 + 1j; y = x**2": "`y` has no gradient: it is complex",
    "var x = zeros([0]); y = sum(x)": "`x` has no elements",
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


def test_an_output_that_is_not_checked_is_told() -> None:
    text = 'var x = 2.0; output y = x**2; output z = [x, "a"]'
    (said,) = run(text).notes
    assert said.startswith('`z` has no gradient: it holds the string "a"')
    assert run(text, run=Options(of=("y",), mode="reverse")).notes == []


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


def test_kinks_within_the_steps_are_in_the_trace_too() -> None:
    found = run("var x = 0.28; y = mean(abs(linspace(0.0, 1.0, 100000) - x))")
    assert found.counts() == (1, 0, 0)


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


@pytest.mark.parametrize(
    ("f", "rule", "values"),
    [
        ("abs(x)", "flip(dy) * sign(x)", "[-8.5e-9, -3.2e-9, 1.66e-8]"),
        ("relu(x)", "dy * where(x > 0, 1.00001, 0)", "[1.1e-8, -5.6e-9, 1.9e-8]"),
        ("x**2", "dy * 2 * x * [1, 1 + 1e-7, 1]", "[-1820.4, 12.8, 610.9]"),
        ("log(1 + x**2)", "dy * 2 * x / (1 + x**2) * [1 + 1e-7, 1, 1]", "[-279221.3, -34.5, 5.9]"),
    ],
)
def test_the_rule_is_blamed_for_one_element(f: str, rule: str, values: str) -> None:
    text = f"fn f(x) {{ return {f} }} backward (dy) {{ return {rule} }}\nvar x = {values}"
    found = run(f"{text}\ny = sum(f(x) * [0.3, 0.9, -0.4])")
    assert [blamed.operation for blamed in found.blamed] == ["f"]


BISECTION = (
    "opaque fn root(a) { low = 0.0; high = 2.0; for i in range(52) { m = (low + high) / 2; "
    "if m * m < a { low = m } else { high = m } }; return low }\n"
    "backward root(dy, a) { return dy * RULE / sqrt(a) }\nvar a = 2.0; y = root(a)"
)


@pytest.mark.parametrize(
    ("rule", "verdict"), [("0.5", "verified"), ("0.50001", "wrong"), ("-0.5", "wrong")]
)
def test_a_body_may_be_flat_where_the_program_is_not(rule: str, verdict: str) -> None:
    assert verdicts(run(BISECTION.replace("RULE", rule))) == {"a": verdict}


def test_a_rule_of_what_larger_steps_see_alone_is_wrong() -> None:
    rule = "fn f(x) { return x + 1e-9 * sin(1e9 * x) } backward (dy) { return dy }"
    assert verdicts(run(f"{rule}\nvar x = 0.0; y = f(x)")) == {"x": "wrong"}


@pytest.mark.parametrize("at", [3.2, 3.49999, 123456.4])
def test_a_rule_of_what_is_flat_is_meant(at: float) -> None:
    text = "fn f(x) { return round(x) } backward (dy) { return dy }\n"
    assert verdicts(run(f"{text}var x = {at}; y = f(x)**2")) == {"x": "undecided"}


def test_a_rule_that_loses_digits_is_not_wrong() -> None:
    rule = "fn f(x) { return log(1 + exp(x)) } backward (dy) { return dy * (1 - 1 / (1 + exp(x))) }"
    assert verdicts(run(f"{rule}\nvar x = -35.0; y = f(x)")) == {"x": "undecided"}


@pytest.mark.parametrize("n", [5, 1999])
@pytest.mark.parametrize("size", ["1e-12", "1e-30", "1e-200"])
@pytest.mark.parametrize(("factor", "verdict"), [("1.0", "verified"), ("1.01", "wrong")])
def test_a_tiny_element_does_not_hide(n: int, size: str, factor: str, verdict: str) -> None:
    rule = f"dy * 2 * a * w * where(arange({n + 1}) == {n}, {factor}, 1.0)"
    found = run(
        f"w = concatenate([ones({n}), [{size}]]); fn h(a) {{ return w * a**2 }} "
        f"backward (dy) {{ return {rule} }}\nvar x = linspace(1.0, 2.0, {n + 1}); y = sum(h(x))"
    )
    assert verdicts(found) == {"x": verdict}
    assert [f.where for f in found.findings if f.verdict == "disagree"] == [f"[{n}]"] * (
        verdict == "wrong"
    )


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


@pytest.mark.parametrize("n", [5, 30])
def test_a_gradient_of_zero_does_not_hide_among_large_ones(n: int) -> None:
    rule = f"dy * 2 * a * w * where(arange({n}) == 1, 0.0, 1.0)"
    found = run(
        f"w = 1e13 * ones({n}); w[1] = 1.0; fn h(a) {{ return w * a**2 }} backward (dy) {{ return {rule} }}\n"
        f"var x = ones({n}); y = sum(h(x))"
    )
    (wrong,) = [f for f in found.findings if f.verdict == "disagree"]
    assert (wrong.where, wrong.ours, wrong.theirs) == ("[1]", 0.0, pytest.approx(2.0))


@pytest.mark.parametrize("kink", ["relu(x[1] - 1.0)", "abs(x[1] - 1.0)", "sum(relu(x - 1.0))"])
def test_a_kink_among_large_gradients_is_no_wrong_element(kink: str) -> None:
    found = run(f"var x = ones(9); y = 1e13 * sum(x[2:]) + {kink}")
    assert verdicts(found) == {"x": "verified"}


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        *((at, "verified") for at in (1e5, 1e8, 3e9, 3e11)),
        # the last place of the argument is a good part of a period
        *((at, "undecided") for at in (3e14, 1e15, 3e17, 1e300)),
    ],
)
def test_where_steps_are_too_large_is_no_kink(at: float, verdict: str) -> None:
    text = "fn h(a) {{ return 3 * a }} backward (dy) {{ return {rule} * dy }}\nvar x = {at!r}\ny = sin(h(x))"
    right, wrong = (run(text.format(rule=rule, at=at)) for rule in ("3", "3 * (1 + 1e-8)"))
    assert (verdicts(right), right.kinks) == ({"x": verdict}, [])
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


def test_a_rule_that_returns_none_leaves_a_gradient_undecided() -> None:
    rule = "fn f(x, k) { return x * k } backward (dy) { return [dy * k, none] }\n"
    found = run(f"{rule}var x = 2.0; var k = 3.0; y = f(x, k)")
    assert {r.variable: r.verdict for r in found.results} == {"x": "verified", "k": "undecided"}
    still = run(f"{rule}var x = 2.0; var k = 3.0; y = f(x, 3.0) + 0.0 * k")
    assert {r.variable: r.verdict for r in still.results} == {"x": "verified", "k": "verified"}
