"""`check` at kinks: they are found, are no failures, and hide none."""

from __future__ import annotations

import math

import pytest

from gradcli.tasks.check.methods import METHODS
from gradcli.tasks.evaluation import Options

from .checks import AGREED, WRONG, finding, run, verdicts


@pytest.mark.parametrize(
    ("text", "operation", "left", "right"),
    [
        ("var x = 0.0; y = abs(x)", "abs", -1.0, 1.0),
        ("var x = 0.0; y = 2 * relu(x) + x", "relu", 1.0, 3.0),
        ("var x = 1.0; y = maximum(x, 2.0 - x)", "maximum", -1.0, 1.0),
        ("var x = 2.0; y = max([x, 2.0])", "max", 0.0, 1.0),
        ("var x = 0.0; y = where(x > 0, x**2 + 3 * x, x)", ">", 1.0, 3.0),
        ("var x = 1.0; if x < 1.0 { y = 5 * x } else { y = x + 4.0 }", "<", 5.0, 1.0),
        ("var x = 1.0; y = clip(x, 0.0, 1.0)", "clip", 1.0, 0.0),
        ("var x = 1.0; y = floor(x) + x", "floor", math.inf, 1.0),
        # Jumps, of which rounding errors beside the kink are none, nor what lies far from it.
        ("var x = 2.0; y = round(x + 0.5) * x", "round", 2.0, math.inf),
        ("var x = 1e3; y = trunc(x) + x", "trunc", math.inf, 1.0),
        ("var x = 100.0; y = -trunc(x - 2.0)", "trunc", -math.inf, 0.0),
        ("var x = 0.0; y = trunc(cos(x))", "trunc", math.inf, -math.inf),
        # Too small a jump for differences.
        ("var x = 3.0; y = x**2 + 1e-9 * floor(x)", "floor", math.inf, 6.0),
        # Ints: as numbers, and as what decides an index, a count, or a branch.
        ("var x = 2.0; y = int64(x) * x", "int64", math.inf, 2.0),
        ("var x = 2.0; y = argmax([x, 2.0]) * x", "argmax", -math.inf, 0.0),
        ("var x = 2.0; a = [1.0, 2.0, 3.0]; y = a[int64(x)] * x", "int64", math.inf, 3.0),
        ("var x = 2.0; y = x; for i in range(int64(x)) { y += x }", "int64", math.inf, 3.0),
        ("var x = 2.0; y = x; if int64(x / 2) == 1 { y = 3 * x }", "int64", math.inf, 3.0),
        # An operand that turns back at the kink, too: its tangent leads nowhere.
        ("var x = 0.0; y = sqrt(x**2)", "sqrt", -1.0, 1.0),
        ("var x = 1.0; y = (x - 1.0)**4; y = log(1 + y**0.25)", "**", -1.0, 1.0),
        ("var x = 0.0; y = acos(cos(x))", "acos", -1.0, 1.0),
        # Beside numbers that are much larger.
        ("var x = 0.0; y = sum(abs([x, 1e200]) * [2.0, 1e-200])", "abs", -2.0, 2.0),
        ("var x = 0.0; y = cbrt(x * x)", "cbrt", -math.inf, math.inf),
        ("var x = 0.0; y = 1e-12 * cbrt(x * x)", "cbrt", -math.inf, math.inf),
        ("var x = 0.0; y = cbrt(x)**2", "cbrt", -math.inf, math.inf),
        # Slopes that come near their limits as slowly as a root, or, as a logarithm, have none.
        ("var x = 0.0; a = abs(x); y = 1.0 + a + a**1.5", "abs", -1.0, 1.0),
        ("var x = 0.0; y = relu(x) + x**2 * cbrt(x)", "relu", 0.0, 1.0),
        ("var x = 0.0; a = abs(x); y = xlogy(a, a)", "abs", math.inf, -math.inf),
    ],
)
def test_kinks_are_found_and_are_no_failures(
    text: str, operation: str, left: float, right: float
) -> None:
    found = run(text)
    assert "disagree" not in {f.verdict for f in found.findings}
    kink, *_ = found.kinks
    assert (kink.operation, kink.variable) == (operation, "x")
    assert (kink.left, kink.right) == (
        pytest.approx(left, rel=1e-6),
        pytest.approx(right, rel=1e-6),
    )
    assert found.exit_code == 0


@pytest.mark.parametrize(
    "other",
    [
        "y = none",  # nothing
        "y = [x, x]",  # other parts
        "y = array([x, x])",  # another shape
        "l = []; y = l[0]",  # an error
    ],
)
def test_an_output_may_have_a_value_to_one_side_alone(other: str) -> None:
    found = run(f"var x = 1.5; if x <= 1.5 {{ y = x * x }} else {{ {other} }}; output y")
    kink, *_ = found.kinks
    assert kink.left == pytest.approx(3.0, rel=1e-6)
    assert math.isnan(kink.right)
    assert found.exit_code == 0


@pytest.mark.parametrize("made", ["l", "{n: l}", "array(l)"])
def test_an_output_may_have_fewer_parts_beside_the_point(made: str) -> None:
    search = "l = [x]; while abs(l[-1] - x) < 0.46 { l = append(l, l[-1] + x / 10) }"
    assert verdicts(run(f"var x = 1.5; {search}; y = {made}")) == AGREED


def test_a_kink_that_does_not_matter_is_none() -> None:
    found = run("var x = 0.0; y = abs(x)**3 + x")
    assert finding(found, "differences").verdict == "agree"


@pytest.mark.parametrize(
    "output",
    [
        "abs(x)**3",
        "x * abs(x)",
        "relu(x)**2",
        "abs(x)**1.5",
        "1 + abs(x)**1.1",
        "abs(x)**1.25",
        "x + abs(x)**1.3",
        "x**3 + abs(x)**1.5",
    ],
)
def test_no_kink_of_an_operation_is_one_where_both_slopes_are_the_gradient(output: str) -> None:
    found = run(f"var x = 0.0; y = {output}")
    assert ([result.verdict for result in found.results], found.kinks) == (["verified"], [])


def test_a_jump_by_as_much_to_both_sides_verifies_nothing() -> None:
    found = run("var x = 2.0; y = sign(x - 2) * x + x")
    assert [kink.operation for kink in found.kinks] == ["sign"]
    assert [result.verdict for result in found.results] == ["undecided"]


@pytest.mark.parametrize("at", [2.5, 2.0 + 1e-9, 2e6 + 0.25])
@pytest.mark.parametrize("output", ["int64(x) * x", "[1.0, 2.0][int64(x) % 2] * x"])
def test_ints_are_no_kink_beside_their_jump(output: str, at: float) -> None:
    found = run(f"var x = {at}; y = {output}")
    assert ([result.verdict for result in found.results], found.kinks) == (["verified"], [])


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("var x = 0.5; y = maximum(x, 0.5)", 0.0, 1.0),
        ("var x = 2.0; y = abs(x - 2.0)", -1.0, 1.0),
        ("var x = 2.0; y = ceil(x)", 0.0, math.inf),
        ("var x = -2.0; y = trunc(abs(x))", 0.0, -math.inf),
    ],
)
def test_kinks_in_single_precision(text: str, left: float, right: float) -> None:
    found = run(text, run=Options(dtype="float32"), methods=tuple(METHODS))
    assert [result.verdict for result in found.results] == ["kink"]
    sides = pytest.approx(left, abs=1e-4), pytest.approx(right, abs=1e-4)
    assert (found.kinks[0].left, found.kinks[0].right) == sides


@pytest.mark.parametrize("method", ["complex", "differences", "sympy"])
@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.0; y = abs(x)",
        "var x = 1.0; y = maximum(x, 1.0)",
        "var x = 0.0; y = where(x > 0, 2 * x, -3 * x)",
        "var x = 1.0; if x < 1 { y = x } else { y = 3 * x - 2 }",
        "var x = 2.0; y = floor(x) * x",
        "var x = 0.0; y = trunc(cos(x))",
    ],
)
def test_kinks_are_found_by_each_method_alone(text: str, method: str) -> None:
    found = run(text, methods=(method,))
    assert [result.verdict for result in found.results] == ["kink"]


@pytest.mark.parametrize("method", ["complex", "sympy"])
def test_each_method_alone_verifies_what_is_smooth_at_a_kink(method: str) -> None:
    found = run("var x = 0.0; y = x * abs(x)", methods=(method,))
    assert ([result.verdict for result in found.results], found.kinks) == (["verified"], [])


def test_a_jump_is_no_kink_beside_it() -> None:
    found = run("var x = 1.9999999999; y = floor(x) * x + abs(x - 1.99999999992)")
    assert ([result.verdict for result in found.results], found.kinks) == (["verified"], [])


def test_slopes_over_many_jumps_contradict_nothing() -> None:
    found = run("var x = 1e3; y = fmod(x, 1e-8)")
    assert [result.verdict for result in found.results] == ["undecided"]


def test_a_gradient_by_convention_that_is_none_is_wrong() -> None:
    found = run("var x = 0.0; y = cbrt(x)**3")
    assert [result.verdict for result in found.results] == ["wrong"]
    assert "the slopes are 1 to the left and 1 to the right, and none is 0" in (
        finding(found, "differences").reason
    )


def test_a_rule_is_blamed_for_the_kinks_in_its_function_alone() -> None:
    """The conventions at a tie of `sort` aren't those of the function before it."""
    right = "fn a(x) { return x**2 } backward (dy) { return 2 * dy * x }; "
    ties = "var x = [1.0, 1.0, 1.0]; y = sum(sort(a(x)) * [0.5, -0.6, 0.4])"
    assert [result.verdict for result in run(right + ties).results] == ["kink"]
    wrong = "fn a(x) { return abs(x) } backward (dy) { return 5 * dy }; "
    assert [r.verdict for r in run(wrong + "var x = 0.0; y = a(x)").results] == ["wrong"]


def test_a_kink_hides_no_wrong_rule() -> None:
    found = run(WRONG + "var x = 0.0\ny = square(x + 1.0) + abs(x)")
    assert [b.operation for b in found.blamed] == ["square"]
    assert found.exit_code == 1


def test_beside_a_kink_all_is_well() -> None:
    assert verdicts(run("var x = 1e-4; y = abs(x) + relu(x)")) == AGREED


def test_inconclusive_may_fail() -> None:
    found = run("var x = 0.0; y = abs(x)", lenient=False)
    assert found.exit_code == 1
