"""`check` at random points: expectations and rules that are wrong elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcli.report.checks import problem_of
from gradcli.tasks.check.checking import check_file
from gradcli.tasks.check.results import CheckOptions

from .checks import QUICK, run


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
    found = check_file(str(tmp_path / "main.tg"), None, {}, CheckOptions(points=12, methods=QUICK))
    assert {name for point in found.points for name in point} == {"other.w"}
    assert found.exit_code == 1


def test_expectations_that_hold_everywhere_hold() -> None:
    found = run(
        "var x = 1.0 in (0.5, 3.0); y = x**3; expect grad(y, x) ~= 3 * x**2", points=5, order=2
    )
    assert found.exit_code == 0
    assert found.counts()[1] == 0


@pytest.mark.parametrize("asked", ["grad(x**3, x)", "grad(fn(q) = q**3)(x)", "g"])
def test_a_claim_of_a_derivative_is_differentiated_at_second_order(asked: str) -> None:
    wrong, right = (
        f"var x = 1.0; g = grad(x**3, x); mine = {mine}; expect mine ~= {asked}; output mine"
        for mine in ("3 * x", "3 * x**2")
    )
    assert run(wrong).exit_code == run(right).exit_code == run(right, order=2).exit_code == 0
    found = run(wrong, order=2)
    assert found.exit_code == 1
    assert (
        "holds here alone: the derivative of its left side with respect to `x` is 3.0, of its right side 6.0"
        in found.expectations[-1].message
    )
    assert (
        run(f"var x = 2.0; y = x**3; g = grad(y, x); expect {asked} ~= 12.0", order=2).exit_code
        == 0
    )  # a number says nothing around
