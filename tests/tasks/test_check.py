"""What `check` says of small programs: verdicts, blame, rows and paths."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check, check_file
from gradcli.tasks.check.results import METHODS, CheckOptions
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program

from ..engine.derivatives.random_programs import RELAXED, Program, points, programs
from .checks import AGREED, QUICK, SAMPLES, WRONG, finding, run, verdicts

NOTHING = {"nested_particle"}  # to differentiate: it takes long, and test_samples.py runs it
WRONG_ON_PURPOSE = {
    "guide_tf_adv_04_clipped_gradient"
}  # its rule clips gradients, and is no derivative


# ---- right programs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.7; y = sin(x) * exp(-x)",
        "var x = 0.8; y = erf(x) + softplus(x) * tanh(x) + digamma(x)",
        "var x = [-0.2, -1.3, -30.3, 0.4, 4.2]; y = gamma(x)",  # left of its poles too
        "var x = [0.3, -1.2, 2.0, 0.1, 0.9, 1.1]; y = logsumexp(x) * norm(x)",
        "var x = [[2.0, 0.3], [0.1, 1.5]]; y = logdet(x) + sum(inv(x))",
        "var x = 0.8; a = ((x + 0.055) / 1.055)**2.4; y = cbrt(0.21 * a + 0.72) + 2 * a",  # exponents of many digits
        "var x = [3.0, 1.0, 2.0]; a = zeros(3); for i in range(3) { a[i] = x[i] * a[i - 1] + x[i] }; y = sum(a * a)",
        "var x = 1.5; fn f(n) { if n == 0 { return x }; return x * f(n - 1) }; y = f(5)",
        "import nn; var x = [[1.0, 2.0]]; layer = nn.Dense(2, 3); y = sum(layer(x)**2)",
        "var x = 2.0; y = x * detach(x)",
        "var x = 2.0; pause { s = x**2 }; y = s * x",
        "var x = 1.0; for i in range(5) { x :-= 0.1 * grad(x**4, x) }; y = x**3",
        "var x = 1e-9; y = sin(x)",
        "var x = 1e9; y = log(x)",
        "var x = 1e-200; y = log2(x)",
        "var x = [1e-12, 1e8, -3.0, 2.0, 1e-3]; y = cbrt(x)",  # of very different sizes
        "var x = [0.0, -8.0]; y = x[0] + cbrt(x[1]) * cbrt(x[0] * 0)",  # of a zero that stays one
        "var x = 0.0; y = x**2",  # at a minimum
        "var x = 3.0; y = 2.0 * x + 1.0",  # no remainder
    ],
    ids=lambda text: text[:40],
)
def test_right_gradients_agree(text: str) -> None:
    found = run(text)
    assert {f.verdict for f in found.findings} == {"agree"}, [
        (f.method, f.verdict, f.reason) for f in found.findings
    ]
    assert found.exit_code == 0


def test_sympy_agrees_to_the_last_place() -> None:
    found = run("var x = 0.7; y = sin(x) * exp(-x) + 0.1 * x**3", methods=tuple(METHODS))
    assert finding(found, "sympy").verdict == "agree"
    assert finding(found, "sympy").ulps <= 2


def test_elements_of_lists_and_arrays_are_weighed_so_that_errors_do_not_cancel() -> None:
    """The sum of a softmax is 1: its gradient would be 0, whatever the rule."""
    found = run("var x = [0.1, 0.5, -0.2]; output y = softmax(x)")
    assert abs(finding(found, "complex").ours) > 1e-3
    assert verdicts(found) == AGREED


def test_what_sympy_has_no_number_for_is_skipped() -> None:
    found = run("var x = 1.3; y = zeta(x + 1)", methods=("differences", "sympy"), order=2)
    assert (
        verdicts(found) == verdicts(found, order=2) == {"differences": "agree", "sympy": "skipped"}
    )
    assert finding(found, "sympy").reason == "SymPy can't work its derivative out"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "var x = 1.0; for k in range(6000) { x :-= 1e-3 * grad(x**2, x) }; y = x**2",
            "the run is too long",
        ),
        ("var x = 1.0; y = x; for k in range(400) { y = sin(y) }", "the path is too long"),
        ("var x = 0.1 * ones([6, 6]) + eye(6); y = sum(inv(x))", "grows too large"),
    ],
)
def test_sympy_is_not_asked_where_it_would_take_long(text: str, reason: str) -> None:
    found = run(text, methods=("sympy",))
    assert finding(found, "sympy").verdict == "skipped"
    assert reason in finding(found, "sympy").reason


@pytest.mark.parametrize(
    "text",
    [
        "y = x; for k in range(200) { y = sin(y) }",
        "y = x; for k in range(11) { y = 0.5 * tanh(y) + tanh(asin(0.9 * sin(x))) }",
        "y = 1.0; for k in range(4) { y = y - (y**3 + y - tanh(erfc(x))) / (3.0 * y**2 + 1.0) };"
        "y = i1(tanh(xlogy(gamma(1e-4 * (1.5 + sin(y))) * 1e-4, 1.5 + sin(-x))) * 2.0)",
        "s = (1.0 - cos(1e-4 * erfc(3.0 + 2.0 * expit(x)))) * 1e7;"
        "t = where(s > 2.19, log(1e-300 * (1.5 + sin(x / (2.0 + sin(x))))), s**2);"
        "y = x + clip((trunc(3.0 * x) + t) * 1e3, -1.0, 1.0) * t",
    ],
)
def test_long_forms_take_sympy_no_longer_than_their_parts(text: str) -> None:
    """Each would take it minutes as a whole."""
    found = run(f"var x = 0.7; {text}", methods=("sympy",), order=2)
    assert {f.verdict for f in found.findings} == {"agree"}


def test_ten_thousand_variables() -> None:
    found = run("var x = sin(arange(10000.0)); y = sum(exp(-x**2) * x) + norm(x)")
    assert verdicts(found) == AGREED
    assert finding(found, "complex").where == " along a random direction"


def test_what_gradients_do_not_flow_through_stays_as_it_was() -> None:
    found = run("var x = 3.0; frozen s = 0.0; s := x**2; y = s * x")
    assert verdicts(found) == AGREED
    assert finding(found, "differences").theirs == pytest.approx(9.0)


@pytest.mark.parametrize(
    "text",
    [
        "var x = 1e-200; var z = 1e-170; y = x * z",
        "var x = 1e-200; var z = 1e-170; y = x * z * x",
        "var x = 1e-200; y = x**2 * 1e200",
    ],
)
def test_numbers_near_the_smallest(text: str) -> None:
    found = run(text, order=2)
    assert "disagree" not in {f.verdict for f in found.findings}


def test_numbers_near_the_largest() -> None:
    found = run("var x = 1e307; y = x * 10", order=2)
    assert "disagree" not in {f.verdict for f in found.findings}


def test_float32() -> None:
    found = run("var x = [0.3, 0.7]; y = sum(exp(x) * x)", run=Options(dtype="float32"))
    assert verdicts(found)["complex"] == "agree"
    assert "disagree" not in verdicts(found).values()


def test_a_rule_that_is_wrong_in_float32_alone() -> None:
    rule = 'dy * 2 * x * (1.001 if x.dtype == "float32" else 1.0)'
    text = f"fn f(x) {{ return x**2 }} backward (dy) {{ return {rule} }}; var x = 1.3; y = f(x)"
    assert run(text).exit_code == 0
    found = run(text, run=Options(dtype="float32"))
    assert found.exit_code == 1
    assert [b.operation for b in found.blamed] == ["f"]


# ---- wrong rules ---------------------------------------------------------------------------------


def test_a_wrong_rule_of_ones_own_is_blamed() -> None:
    found = run(WRONG + "var x = 1.5\na = sin(x)\ny = square(a)")
    assert set(verdicts(found).values()) == {"disagree"}
    (blamed,) = found.blamed
    assert (blamed.operation, blamed.span.line, blamed.span.text) == ("square", 4, "square(a)")
    assert blamed.factor == pytest.approx(1.5)
    assert found.exit_code == 1


def test_calls_that_lead_to_the_wrong_rule() -> None:
    found = run(WRONG + "fn outer(x) {\n    return square(x) + 1.0\n}\nvar x = 1.5\ny = outer(x)")
    assert [call.function for call in found.blamed[0].calls] == ["outer"]


def test_a_wrong_rule_of_an_opaque_function() -> None:
    rule = "backward f(dy, a, b) { return [dy * b**2, dy * a * b] }"
    found = run(f"opaque fn f(a, b) {{ return a * b**2 }}\n{rule}\nvar x = 1.5\ny = f(2.0, x)")
    assert finding(found, "differences").verdict == "disagree"
    assert finding(found, "forward").verdict == "skipped"
    assert found.blamed[0].factor == pytest.approx(0.5)


def test_a_right_rule_behind_a_search_is_proven_by_the_program_alone() -> None:
    sample = next(path for path in SAMPLES if path.stem == "implicit_rule")
    found = check_file(str(sample), None, {}, CheckOptions(methods=QUICK))
    said = {f.method: f.verdict for f in found.findings}
    assert said == {
        "forward": "skipped",
        "complex": "skipped",
        "differences": "agree",
        "taylor": "agree",
        "rules": "agree",
    }


def test_a_rule_that_stands_in_for_a_flat_function_is_undecided() -> None:
    text = "fn f(x) { return round(x) } backward (dy) { return dy }; var x = 2.2; var k = 1.0; y = f(x) + k"
    found = run(text)
    assert set(verdicts(found).values()) == {"skipped"}
    assert {r.variable: r.verdict for r in found.results} == {"x": "undecided", "k": "verified"}
    assert found.exit_code == 0
    assert run(text, strict=True).exit_code == 1


@pytest.mark.parametrize(
    "asks",
    [
        "dy = grad(square(sin(x)), x)",
        "tape t { y = square(sin(x)) }; dy = t.gradient(y, x)",
        "dy = grad(fn(a) = square(sin(a)))(x)",
        "record { y = square(x) }; backward(y); dy = x.grad",
    ],
)
def test_derivatives_that_the_program_asks_for_rest_on_tested_rules(asks: str) -> None:
    begin = "var x = 1.5\n" + ("attach_grad(x)\n" if "record" in asks else "")
    found = run(f"{WRONG}{begin}{asks}\noutput dy")
    rules = [f for f in found.findings if f.method == "rules"]
    assert [f.verdict for f in rules] == ["disagree"]
    assert [b.operation for b in found.blamed] == ["square"]
    right = run(f"fn square(x) = x**2\n{begin}{asks}\noutput dy")
    assert [f.verdict for f in right.findings if f.method == "rules"] == ["agree"]


def test_digits_that_can_be_trusted() -> None:
    found = run("var x = 1.3; a = x * 1e10; b = x * (1e10 + 1.0); y = b - a")
    assert finding(found, "complex").reason == "ill-conditioned: about 6 digits can be trusted"
    assert "disagree" not in verdicts(found).values()


def test_eigenvectors_that_turn_are_no_wrong_rule() -> None:
    text = "var x = 0.3; a = [[3.0, -2.0, x], [-2.0, 3.5, -1.5], [x, -1.5, 2.5]]; values, vectors = eigh(a); y = sum(vectors**3)"
    assert run(text).blamed == []


def test_forward_mode_alone_proves_nothing() -> None:
    assert verdicts(run("var x = 0.7; y = sin(x)", methods=("forward",))) == {
        "forward": "inconclusive"
    }


# ---- many rows at once ---------------------------------------------------------------------------

ROWS = "var x = 1.01 + arange({n}.0) / 20\ny = sum(vmap(f)(x))"


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "f",
    [
        "fn f(a) { s = a; while s < 4.0 { s = s * (1 + a) }; return s }",
        "fn f(a) = sin(a) * norm([a, a**2])",
        # drawn for all rows at once
        "fn f(a) { if a > 1.2 { return a**2 }; return 2 * a + uniform([2])[0] }",
    ],
)
def test_rows_that_do_what_they_want(f: str, n: int, order: int) -> None:
    found = run(f"{f}\n{ROWS.format(n=n)}", order=order)
    assert "disagree" not in {finding.verdict for finding in found.findings}
    assert verdicts(found)["differences"] == verdicts(found)["forward"] == "agree"


@pytest.mark.parametrize("n", [10, 100])
def test_a_wrong_rule_in_rows_is_blamed(n: int) -> None:
    found = run(f"{WRONG}fn f(a) = square(a) + 1\n{ROWS.format(n=n)}")
    assert set(verdicts(found).values()) == {"disagree"}
    assert [(b.operation, b.span.line, b.factor) for b in found.blamed] == [
        ("square", 2, pytest.approx(1.5))
    ]


@pytest.mark.parametrize("more", ["", " + 0.0 * uniform([2])[0]"])
@pytest.mark.parametrize("n", [10, 100])
def test_kinks_of_rows(more: str, n: int) -> None:
    found = run(f"fn f(a) = abs(a){more}\nvar x = arange({n}.0) / 20\ny = sum(vmap(f)(x))")
    assert "disagree" not in verdicts(found).values()
    assert {kink.operation for kink in found.kinks} == {"abs"}


# ---- the path ------------------------------------------------------------------------------------

GUIDE = """fn f(a) {
    b = a * 2
    while norm(b) < 1000 { b = b * 2 }
    if b.sum() > 0 { c = b } else { c = 100 * b }
    return c
}
var a = 0.5
d = f(a)"""


def test_the_path_and_how_far_it_reaches() -> None:
    path = run(GUIDE).path
    loop, choice = path.branches
    assert (loop.span.line, loop.held, loop.failed) == (3, 10, 1)
    assert (choice.span.line, choice.held, choice.failed) == (4, 1, 0)
    assert loop.distance["a"] == pytest.approx(0.5 - 0.48828125)
    assert path.valid == {"a": (0.48828125, True, 0.9765625, False)}


def test_a_path_ends_where_an_int_that_decides_it_jumps() -> None:
    path = run("var x = 2.5; if all([x > 1.0, int64(x) == 2]) { y = x*x } else { y = x }").path
    assert path.valid == {"x": (2.0, True, 3.0, False)}


def test_conditions_on_nothing_that_moves_are_no_branches() -> None:
    path = run("var x = 1.0; const n = 3; k = 0; while k < n { k = k + 1 }; y = x * k").path
    assert path.branches == []
    assert path.valid == {}


@pytest.mark.parametrize("condition", ["z == 1.0 + 2.0j", "z != x", "abs(z) > 1.0"])
def test_conditions_on_complex_numbers_have_no_distance(condition: str) -> None:
    found = run(
        f"var z = 1.0 + 2.0j; var x = 3.0; if {condition} {{ y = abs(z)**2 * x }} else {{ y = x }}"
    )
    assert found.exit_code == 0
    assert len(found.path.branches) == 1


def test_a_path_of_very_many_conditions_has_no_interval() -> None:
    source = "var x = 0.5; y = 0.0\n" + "if x > 3.0 { y = y + x } else { y = y - x }\n" * 501
    path = run(source).path
    assert len(path.branches) == 501
    assert path.valid == {}


def test_a_path_without_an_end() -> None:
    path = run("var x = 1.0; if x > -2.0 { y = x } else { y = 2 * x }").path
    assert path.valid["x"] == (-2.0, False, math.inf, False)


# ---- programs that fail --------------------------------------------------------------------------


def test_expectations_count() -> None:
    found = run("var x = 2.0; y = x**2; expect y == 4.0; expect y == 5.0")
    assert found.counts() == (2, 1, 0)
    assert found.exit_code == 1


def test_errors_of_the_program_are_told() -> None:
    found = run("var x = [1.0]; y = x[3]")
    assert [d.code for d in found.diagnostics] == ["E303"]
    assert found.exit_code == 3


@pytest.mark.parametrize(
    "path",
    [p for p in SAMPLES if p.stem not in NOTHING | WRONG_ON_PURPOSE],
    ids=lambda path: path.stem,
)
def test_no_false_alarm_on_a_sample(path: Path) -> None:
    found = check_file(str(path), None, {}, CheckOptions(methods=QUICK))
    assert [
        (f.output, f.variable, f.method, f.reason)
        for f in found.findings
        if f.verdict == "disagree"
    ] == []
    assert found.counts()[1] == 0
    assert found.exit_code == 0
    assert all(f.reason for f in found.findings if f.verdict in ("inconclusive", "skipped"))


@settings(RELAXED, max_examples=40)
@given(programs(), points)
def test_no_false_alarm_on_random_programs(program: Program, point: tuple[float, Any]) -> None:
    x, v = point
    node = parse_program(Source("<test>", f"{program.source}output y\n"))
    found = check(node, {"x": float(x), "v": [float(e) for e in v]}, CheckOptions(methods=QUICK))
    assert {f.verdict for f in found.findings} <= {"agree"}


@settings(RELAXED, max_examples=20)
@given(programs(), points)
def test_no_false_alarm_on_second_derivatives_of_random_programs(
    program: Program, point: tuple[float, Any]
) -> None:
    x, v = point
    node = parse_program(Source("<test>", f"{program.source}output y\n"))
    options = CheckOptions(methods=("complex", "differences"), order=2)
    found = check(node, {"x": float(x), "v": [float(e) for e in v]}, options)
    assert {f.verdict for f in found.findings} <= {"agree"}


@pytest.mark.parametrize(
    "power", ["x**2", "x**3", "x**2.0", "(x + 1.0)**0.5", "(x + 1.0)**-1", "x**1"]
)
def test_derivatives_of_a_power_at_zero_to_the_third_order(power: str) -> None:
    """What isn't finite in the branch that the derivative of a power doesn't take leaves no
    trace."""
    found = run(f"""fn f(x) = sum({power} + x**3)
const x = [0.1, 0.0, -0.9]
var v = [0.0, 0.0, 0.0]
z = sum(grad(fn(x) = sum(grad(f)(x) * v))(x) * [1.0, 2.0, 3.0])
output z""")
    assert {f.verdict for f in found.findings} == {"agree"}
