"""`check` of what isn't finite: it fails, unless the program says that it is meant."""

from __future__ import annotations

import pytest

from gradcli.report.checks import problem_of
from gradcli.tasks.check.results import METHODS
from gradcli.tasks.evaluation import Options

from .checks import QUICK, run
from .proofs import WRONG, codes, verdicts

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


@pytest.mark.parametrize("methods", [tuple(METHODS), QUICK, ("sympy",), ("forward",), ("taylor",)])
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


@pytest.mark.parametrize(
    ("condition", "slope"),
    [("x * inf * 0 > 0", 2.0), ("x * sqrt(-1.0) != 0", 1.0), ("fmod(1.0, x - x) > 0", 2.0)],
)
def test_a_nan_that_is_compared_differs_from_all_numbers(condition: str, slope: float) -> None:
    found = run(f"var x = 3.0; y = where({condition}, x, 2 * x)", methods=tuple(METHODS))
    assert [result.verdict for result in found.results] == ["verified"]
    assert next(f.theirs for f in found.findings if f.method == "sympy") == slope
