"""`check` where rounding errors inside a program are large: it verifies no digit that they take,
and blames no rule for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gradcli
from gradcli.tasks.check.methods import METHODS
from gradcli.tasks.check.results import DISAGREE, UNDECIDED, VERIFIED, WRONG

from .checks import QUICK, finding, run

ALL = tuple(METHODS)

# Programs whose values cancel, and the operation whose rounding takes all digits of the gradient.
CANCELLED = [
    ("var x = 1e-8; y = (1 - cos(x)) / x**2", "cos"),
    ("var x = 1e-4; y = (1 - cos(x)) / x**2", "cos"),
    ("var x = 1e-17; y = (exp(x) - 1) / x", "exp"),
    ("var x = 1e-20; y = log(1 + x) / x", "+"),
    ("var x = 1e-6; y = (sin(x) - x) / x**3", "sin"),
    ("var x = 1e-9; y = (sin(x) - x) / x**3", "sin"),
    ("var x = [1e-8, 2.0]; y = (1 - cos(x[0])) / x[0]**2 * x[1]", "cos"),
    ("var x = 0.3; a = x; for i in range(60) { a = 3.99 * a * (1 - a) }; y = a", ""),
    ("var x = 3.00000001; y = (x**2 - 9) / (x - 3)", "**"),
]


@pytest.mark.parametrize(("program", "operation"), CANCELLED)
@pytest.mark.parametrize("methods", [("complex",), QUICK, ALL])
def test_a_gradient_without_digits_is_undecided(
    program: str, operation: str, methods: tuple[str, ...]
) -> None:
    found = run(f"{program}; output y", methods=methods)
    assert [result.verdict for result in found.results] == [UNDECIDED]
    reason = finding(found, "complex").reason
    assert reason.startswith("no digit can be trusted: rounding")
    assert not operation or f"of `{operation}` in line 1" in reason


def test_a_zero_that_rounding_made_is_undecided() -> None:
    found = run("var x = 1e16; y = ((x + 1) - x) * x", methods=ALL)  # whose derivative is 1
    assert [result.verdict for result in found.results] == [UNDECIDED]


@pytest.mark.parametrize("constant", ["(1 - cos(1e-6))", "log(cos(0.001))", "(1e16 + 1 - 1e16)"])
def test_what_constants_lose_is_no_error_of_a_gradient(constant: str) -> None:
    found = run(f"var x = 2.0; y = x**2 * {constant}", methods=ALL)
    assert [result.verdict for result in found.results] == [VERIFIED]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            "var x = 1e300; y = x * exp(-x / 1e300)",
            "the numbers are too large for the complex step",
        ),
        ("var x = [1e300, 1e300]; y = norm(x)", "the numbers are too large for the complex step"),
        ("var x = -1.0000000001; y = gamma(x)", "an operation loses digits at complex numbers"),
    ],
)
def test_a_complex_step_that_says_nothing(program: str, reason: str) -> None:
    found = run(program, methods=ALL)
    assert [result.verdict for result in found.results] == [VERIFIED]
    assert finding(found, "complex").reason == reason


@pytest.fixture
def rough() -> Iterator[None]:
    """Registered functions of few digits, the one with a right rule, the other with a wrong one."""
    for name, factor in ("rough", 2.0), ("rough_and_wrong", 2.1):
        gradcli.register(
            name,
            "x",
            "The square, to the digits of float32.",
            lambda x: np.float64(np.float32(x**2)),
            partials=[lambda m, y, x, factor=factor: factor * x],
        )
    yield
    gradcli.unregister("rough")
    gradcli.unregister("rough_and_wrong")


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("at", [1.3, -0.7, 2.0])
def test_an_operation_of_few_digits_is_verified_to_those(at: float) -> None:
    (result,) = run(f"var x = {at}; y = rough(x)", methods=ALL).results
    assert (result.verdict, result.digits) == (VERIFIED, 4)
    (result,) = run(f"var x = {at}; y = rough_and_wrong(x)", methods=ALL).results
    assert result.verdict == WRONG


def test_at_the_smallest_number_there_is_no_step() -> None:
    found = run("var x = 5e-324; y = sqrt(x)")
    assert [result.verdict for result in found.results] == [UNDECIDED]


def test_where_only_sympy_disagrees_an_underflow_is_told() -> None:
    found = run("var x = 1e-170\ny = x**3 * 1e200\noutput y", methods=ALL)
    assert [result.verdict for result in found.results] == [WRONG]
    assert finding(found, "sympy").reason == "`pow` in line 2 underflows"


def test_a_second_derivative_without_digits_is_undecided() -> None:
    found = run("var x = 1e-4; y = (1 - cos(x)) / x; output y", order=2)
    assert [result.verdict for result in found.results] == [VERIFIED, UNDECIDED]


@pytest.mark.parametrize(
    ("program", "digits"),
    [
        ("var x = 1e-3; y = (1 - cos(x)) / x", 8),
        ("var x = 1e-4; y = (exp(x) - 1) / x", 6),
        ("var x = [1.1, 1.1, 0.3]; y = dot([1e12, -1e12, 1.0], x)**2", 1),
        ("var x = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.7]; y = var(x)", 4),
    ],
)
def test_as_many_digits_are_verified_as_rounding_leaves(program: str, digits: int) -> None:
    (result,) = run(f"{program}; output y", methods=("complex",)).results
    assert (result.verdict, result.digits) == (VERIFIED, digits)


ROWS = "[[25.0, 0.0, 1.0], [3.0, 24.0, -2.0]]"
ONE_HOT = "[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]"

# Classifiers that are almost certain, and other sums that one term dominates.
CERTAIN = [
    *(f"var x = [{size}, 0.0]; y = softmax(x)[0]" for size in (14.0, 25.0, 40.0, 800.0)),
    *(f"var x = [{size}, 0.0]; y = cross_entropy(x, 0)" for size in (16.0, 25.0, 40.0, 800.0)),
    *(f"var x = [{size}, 0.0, 0.0]; y = log_softmax(x)[0]" for size in (16.0, 20.0)),
    "var x = [14.0, 0.0, 0.0]; y = sum(log(softmax(x)) * [1, 0, 0])",
    f"var x = {ROWS}; y = mean(cross_entropy(x, [0, 1]))",
    f"var x = {ROWS}; y = mean(cross_entropy(x, {ONE_HOT}))",
    f"var x = {ROWS}; y = -mean(sum(log(softmax(x)) * {ONE_HOT}, axis = -1))",
    f"var x = {ROWS}; y = -mean(sum(log_softmax(x) * {ONE_HOT}, axis = -1))",
    "var x = [800.0, 400.0]; y = logsumexp(x)",
    "var x = [80.0, 0.0]; y = logsumexp(x)",
    "var x = 2.0; y = logsumexp([400 * x, 400])",
    "var x = [1.1, 1.1, 0.3]; y = dot([1e12, -1e12, 1.0], x)**2",
]


@pytest.mark.parametrize("program", CERTAIN)
@pytest.mark.parametrize("order", [1, 2])
def test_right_gradients_of_what_is_almost_certain_are_not_blamed(program: str, order: int) -> None:
    found = run(f"{program}; output y", methods=ALL, order=order)
    assert not found.blamed
    assert DISAGREE not in {f.verdict for f in found.findings}
    assert found.results[0].verdict == VERIFIED


@pytest.mark.parametrize("size", [14.0, 40.0])
def test_a_wrong_rule_shows_where_a_class_is_almost_certain(size: float) -> None:
    rule = "fn f(z) { return softmax(z) } backward (dy) { return 1.001 * softmax(z) * (dy - sum(dy * softmax(z))) }"
    found = run(f"{rule}\nvar x = [{size}, 0.0]; y = f(x)[1]; output y", methods=ALL)
    assert [result.verdict for result in found.results] == ["wrong"]


@pytest.mark.parametrize(
    "program",
    [
        "var x = 0.9999999999; y = acos(x)",
        "var x = 1e-9; y = sqrt(x) + 1",
        "var x = [[1.0, 2.0], [2.0, 4.000000001]]; y = logdet(x)",
        "var x = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.7, 1e9, 1e9]; y = std(x)",
    ],
)
def test_a_point_near_an_edge_is_no_kink(program: str) -> None:
    found = run(f"{program}; output y", methods=ALL)
    assert ([result.verdict for result in found.results], found.kinks) == ([VERIFIED], [])
