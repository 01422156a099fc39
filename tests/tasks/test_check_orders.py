"""`check` at points of the domains, and of second and mixed derivatives."""

from __future__ import annotations

import pytest

from gradcli.tasks.check.checking import check_file
from gradcli.tasks.check.results import KINK, METHODS, VERIFIED, WRONG, CheckOptions
from gradcli.tasks.evaluation import Options

from .checks import AGREED, QUICK, SAMPLES, run, verdicts


@pytest.mark.parametrize(
    ("output", "verdicts"),
    [
        ("relu(x)**2", [VERIFIED, KINK]),
        ("x * abs(x)", [VERIFIED, KINK]),
        ("where(x > 0, x**2, 0) + x", [VERIFIED, KINK]),
        ("abs(x) + x**2", [KINK, KINK]),
        ("abs(x)**3 + x**2", [VERIFIED, VERIFIED]),
        ("abs(x)**2 + x", [VERIFIED, WRONG]),  # 2 to both sides, and 0 by the conventions
        ("abs(x) * z", [KINK, KINK, VERIFIED, VERIFIED, KINK]),
        ("abs(x) * z + sin(z) * x", [KINK, KINK, VERIFIED, VERIFIED, KINK]),
        ("x * abs(x) * z + x * z", [VERIFIED, KINK, VERIFIED, VERIFIED, VERIFIED]),
    ],
)
def test_a_second_derivative_that_jumps_is_at_a_kink(output: str, verdicts: list[str]) -> None:
    others = "var z = 2.0; " if "z" in output else ""
    found = run(f"var x = 0.0; {others}y = {output}", order=2, methods=tuple(METHODS))
    assert [result.verdict for result in found.results] == verdicts


@pytest.mark.parametrize("output", ["x**2", "sqrt(x**2 + 1)"])
def test_second_derivatives_at_tiny_numbers(output: str) -> None:
    found = run(f"var x = 1e-200; y = {output}", order=2, methods=tuple(METHODS))
    assert [result.verdict for result in found.results] == [VERIFIED, VERIFIED]


def test_random_points_of_the_domains() -> None:
    found = run("var k = 0.5 in (0.1, 5.0); var x = 2.0; y = log(k) * x", points=4)
    assert [f.point for f in found.findings if f.method == "complex" and f.variable == "k"] == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert all(0.1 < point["k"] < 5.0 and "x" not in point for point in found.points)
    assert len({point["k"] for point in found.points}) == 4
    again = run("var k = 0.5 in (0.1, 5.0); var x = 2.0; y = log(k) * x", points=4)
    assert again.points == found.points
    other = run(
        "var k = 0.5 in (0.1, 5.0); var x = 2.0; y = log(k) * x", points=4, run=Options(seed=1)
    )
    assert other.points != found.points


def test_points_without_domains_say_so() -> None:
    assert "no variable has a domain" in run("var x = 2.0; y = x", points=2).notes[0]
    (note,) = run("var n = 3 in (1, 9); var x = 2.0; y = x**n", points=2).notes
    assert note == "no random points: `n` is 3, and only floats are drawn"


def test_a_point_at_which_the_program_fails_is_told() -> None:
    found = run(
        "var x = 0.5 in (0.0, 1.0); a = [1.0, 2.0]; if x < 0.49 { y = a[7] } else { y = x }",
        points=6,
    )
    assert {d.code for d in found.diagnostics} == {"E612"}
    assert all("index 7" in d.message and "at point" in d.message for d in found.diagnostics)
    assert found.exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.7; y = sin(x)**2",
        "var x = [0.3, 0.2]; y = sum(x**3) * prod(x)",
        "var x = 2.0; y = 3 * x",
    ],
)
def test_second_derivatives(text: str) -> None:
    found = run(text, order=2, methods=tuple(METHODS))
    assert verdicts(found, order=2) == {
        "complex": "agree",
        "differences": "agree",
        "sympy": "agree",
    }


def test_sympy_has_no_second_derivative_of_a_value_at_one_point_alone() -> None:
    found = run("var x = 0.0; y = sinc(x)", order=2, methods=tuple(METHODS))
    expected = {"complex": "agree", "differences": "agree", "sympy": "skipped"}
    assert verdicts(found, order=2) == expected


def test_a_wrong_second_derivative() -> None:
    """A rule whose value is right, and whose own derivative isn't."""
    text = "fn f(x) { return x**3 } backward (dy) { return dy * (3 * x * detach(x)) }\nvar x = 1.5\ny = f(x)"
    found = run(text, order=2)
    assert verdicts(found) == AGREED
    assert verdicts(found, order=2) == {"complex": "disagree", "differences": "disagree"}


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.7; var z = 1.3; y = sin(x * z) + z**3",
        "var x = [0.3, 0.2]; var z = [1.5, -0.4]; y = sum(x**2 * z) * norm(z)",
        "var x = 2.0; var z = [0.1, 0.2, 0.3, 0.4, 0.5]; y = x**2 * prod(z)",
        "var x = 2.0; var z = 3.0; y = x**2 + z**2",  # a block of zeros
        "var x = 2e-6; var z = 3e7; y = x**2 * sqrt(z)",  # of very different sizes
        "var x = [1.0, 2.0]; var z = [3.0, 4.0]; y = x[0] * z[1] - x[1] * z[0]",  # antisymmetric
    ],
)
def test_mixed_second_derivatives(text: str) -> None:
    found = run(text, order=2, methods=tuple(METHODS))
    assert verdicts(found, "x,z", order=2) == {
        "complex": "agree",
        "differences": "agree",
        "sympy": "agree",
    }


def test_mixed_second_derivatives_of_complex_variables() -> None:
    found = run(
        "var x = 1.0 + 2.0j; var z = 0.5 - 1.0j; y = real(x**2 * z)",
        order=2,
        methods=tuple(METHODS),
    )
    assert verdicts(found, "x,z", order=2) == {
        "complex": "skipped",
        "differences": "agree",
        "sympy": "skipped",
    }


@pytest.mark.parametrize(
    "wrong", ["[dy * 2 * x * detach(z), dy * x**2]", "[dy * 2 * x * z, dy * detach(x)**2]"]
)
def test_a_wrong_mixed_second_derivative(wrong: str) -> None:
    """Either of both orders may be the wrong one."""
    text = f"fn f(x, z) {{ return x**2 * z }} backward (dy) {{ return {wrong} }}\nvar x = 1.5\nvar z = 2.0\ny = f(x, z)"
    found = run(text, order=2)
    assert verdicts(found) == verdicts(found, "z") == AGREED
    assert (
        verdicts(found, order=2)
        == verdicts(found, "z", order=2)
        == {"complex": "agree", "differences": "agree"}
    )
    assert verdicts(found, "x,z", order=2) == {"complex": "disagree", "differences": "disagree"}


def test_a_wrong_mixed_second_derivative_by_two_elements() -> None:
    text = (
        "fn f(v) { return v[0] * v[1]**2 } backward (dy) { return dy * [v[1]**2, "
        "2 * detach(v[0]) * v[1]] }\nvar v = [1.5, 2.0]\ny = f(v)"
    )
    found = run(text, order=2)
    assert verdicts(found, "v") == AGREED
    assert verdicts(found, "v", order=2) == {"complex": "disagree", "differences": "disagree"}


def test_many_variables_are_mixed_with_all_others() -> None:
    names = "abcdefgh"
    text = "; ".join(f"var {name} = 0.{k}" for k, name in enumerate(names, 1))
    found = run(f"{text}; y = {' * '.join(f'sin({name})' for name in names)}", order=2)
    mixed = {f.variable: f.verdict for f in found.findings if f.order == 2 and "," in f.variable}
    assert mixed == {f"{name},{'*' if name < 'g' else 'h'}": "agree" for name in names[:-1]}


def test_second_derivatives_that_there_are_none_of() -> None:
    text = "fn f(x) { return round(x) } backward (dy) { return dy }; var x = 2.2; y = f(x)**2"
    found = run(text, order=2)
    assert set(verdicts(found, order=2).values()) == {"skipped"}
    assert any("on purpose" in f.reason for f in found.findings if f.order == 2)
    assert found.counts()[1] == 0


@pytest.mark.parametrize("text", ["var x = 1.0 + 2.0j; y = abs(x)", "var x = 1.0; y = abs(x + 2j)"])
def test_second_derivatives_of_sizes_of_complex_numbers(text: str) -> None:
    found = run(text, order=2)
    assert {r.verdict for r in found.results} == {"verified"}
    assert "agree" in verdicts(found, order=2).values()


def test_chaos_is_no_wrong_second_derivative() -> None:
    """Differences seem to settle at steps far too large, and the complex step doesn't have all its
    digits."""
    sample = next(path for path in SAMPLES if path.stem == "logistic_map")
    found = check_file(str(sample), None, {}, CheckOptions(methods=QUICK, order=2))
    assert {result.verdict for result in found.results} == {"verified"}
    assert "disagree" not in {f.verdict for f in found.findings}
