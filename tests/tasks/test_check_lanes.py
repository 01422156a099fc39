"""What `check` runs for many rows at once: differences, and random points, which find what runs one
by one do."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from gradcli.tasks.check.checking import check
from gradcli.tasks.check.lane_runs import first_step
from gradcli.tasks.check.point import Point
from gradcli.tasks.check.program import Program
from gradcli.tasks.check.results import METHODS, CheckOptions
from gradcli.tasks.evaluation import Options

from .together import are_together, found_at_points, parsed, verdicts

# ---- differences ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.7; y = sin(x) * exp(-x)",
        "var a = 0.7; var b = [1.0, 2.0]; z = a**2; output y = b * a * z",
        "var x = [0.3, -1.2, 2.0, 0.1, 0.9, 1.1]; y = logsumexp(x) * norm(x)",
        "var x = 0.5; s = x; while s < 20.0 { s = s * (1.0 + x) }; y = s",
        "var z = 1.0 + 2.0j; y = abs(z)**2",
        "var x = 0.5; fn f(t) = sin(t) * t; y = grad(f)(x) * x",
    ],
    ids=lambda text: text[:40],
)
def test_what_lies_beside_a_point_is_what_the_program_gives_there(text: str) -> None:
    point = Point(Program(parsed(text), Options(mode="reverse", of=("y",))), {})
    assert point.cases
    for case in point.cases:
        for variable in case.gradients:
            for direction in case.directions(variable):
                found = case.beside(direction, first_step(case, direction))
                assert found is not None
                for step, up, down in found:
                    assert up == pytest.approx(case.rerun((direction, step)), rel=1e-14, abs=1e-15)
                    assert down == pytest.approx(
                        case.rerun((direction, -step)), rel=1e-14, abs=1e-15
                    )


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.01; y = sqrt(x - 0.0099) * x",  # an operation that fails for some of the steps
        "var x = 0.5; a = [1.0, 2.0]; if x > 0.5 { y = a[7] } else { y = x }",
        "var x: float[n] = [1.0, 2.0]; var other: float[n] = [3.0, 4.0]; y = sum(x * other)",
    ],
)
def test_where_the_rows_cannot_go_together_each_step_runs_by_itself(text: str) -> None:
    found = check(
        parsed(text), {}, CheckOptions(methods=("forward", "complex", "differences", "taylor"))
    )
    assert "disagree" not in {f.verdict for f in found.findings}
    assert {f.method for f in found.findings} == {"forward", "complex", "differences", "taylor"}


def test_forward_mode_runs_once_for_all_outputs() -> None:
    point = Point(
        Program(parsed("var x = 0.7; output y = x**2; output z = sin(x)"), Options(mode="reverse")),
        {},
    )
    (direction,) = point.cases[0].directions("x")
    assert point.tangents(direction) == pytest.approx({"y": 1.4, "z": 0.7648421872844885})
    assert point.tangents(direction) is point.tangents(direction)


def test_expressions_that_are_hot_for_numbers_take_rows() -> None:
    """A hot expression of numbers in several boxes, as forward mode over reverse mode has them, is
    called with rows, too."""
    program = Program(
        parsed("var x = 0.5; fn f(t) = sin(t) * t; y = grad(f)(x)**2 * x"),
        Options(mode="reverse", of=("y",)),
    )
    for _ in range(60):
        point = Point(program, {})
        (direction,) = point.cases[0].directions("x")
        point.tangents(direction)
    found = point.cases[0].beside(direction, first_step(point.cases[0], direction))
    assert found is not None
    assert found[0].up == pytest.approx(point.cases[0].rerun((direction, found[0].step)))


# ---- points --------------------------------------------------------------------------------------

TOGETHER = [
    "var k = 0.5 in (0.1, 5.0); var x = 2.0; y = log(k) * x",
    "var a = 0.5 in (0.1, 5.0); var b = 1.0 in (-1.0, 2.0); output y = sin(a*b) * exp(-a) + b**2; output z = a / (1 + b**2)",
    "var x = [1.0, 2.0, 3.0] in (0.1, 5.0); y = sum(log(x) * x); output w = x**2",
    "var x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] in (0.1, 5.0); y = sum(log(x) * x) * norm(x)",
    "var x = 0.5 in (-1.0, 1.0); if x > 0 { y = x**2 } else { y = sin(x) }",
    "var x = 0.5 in (0.1, 1.0); s = x; for i in range(5) { s = s*0.9 + sin(s*x) }; y = s",
    "var x = 1.5 in (1.1, 3.0); s = x; while s < 20.0 { s = s * x }; y = s",
    "var x = 0.5 in (0.1, 1.0); fn f(t) = sin(t)*t; y = grad(f)(x)**2",
    "var x = [[2.0, 0.3], [0.1, 1.5]] in (0.1, 3.0); y = sum(x @ x)",
    "var x = 0.5 in (0.1, 1.0); fn f(t) = sin(t)*t; y = grad(f)(x)",
    "var x = 0.5 in (0.1, 1.0); var k = 2.0; s = x; for i in range(300) { s = s*0.9 + sin(s*x)*k }; y = s",
]
APART = [
    "var x = 0.5 in (0.1, 1.0); frozen s = 2.0 in (1.0, 3.0); y = s * x**2",
    "var x = 2.0 in (0.5, 3.0); output y = x**2; output z = log(int64(x) - 1.0)",
    "fn f(t) { return t**2 } backward (dy) { return 2 * t * dy * where(t > 0.8, 1.01, 1.0) }\nvar x = 0.5 in (0.1, 1.0)\n"
    "y = grad(f)(x) * x",
    "var x = 0.5 in (-1.0, 1.0); y = log(x)",
    "var x = 0.5 in (0.0, 1.0); a = [1.0, 2.0]; if x < 0.49 { y = a[7] } else { y = x }",
    "var x = 0.5 in (-1.0, 1.0); y = round(4 * x) * x + abs(x)",
    "var x = 0.5 in (0.1, 1.0); x :-= 0.1; y = x**2",
    "fn f(t) { return t**2 } backward (dy) { return dy }; var x = 0.5 in (0.1, 1.0); y = f(x)",
]


@pytest.mark.parametrize("text", [*TOGETHER, *APART], ids=lambda text: text[:60])
def test_points_together_find_what_points_one_by_one_do(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"methods": tuple(METHODS)}
    found, how = found_at_points(text, monkeypatch, **options)
    alone, _ = found_at_points(text, monkeypatch, apart=True, **options)
    assert verdicts(found) == verdicts(alone)
    assert (str(found.points), found.notes, found.exit_code) == (
        str(alone.points),
        alone.notes,
        alone.exit_code,
    )
    assert text not in TOGETHER or are_together(how)


@pytest.mark.parametrize(
    "text", [TOGETHER[1], TOGETHER[4], TOGETHER[6]], ids=lambda text: text[:60]
)
def test_points_in_float32(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "run": Options(mode="reverse", dtype="float32"),
        "methods": ("forward", "differences", "taylor", "sympy"),
    }
    found, _ = found_at_points(text, monkeypatch, **options)
    alone, _ = found_at_points(text, monkeypatch, apart=True, **options)
    assert verdicts(found) == verdicts(alone)


@pytest.mark.parametrize("n", [0, 3])
def test_without_sympy_the_others_say_what_there_is(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)  # as where it isn't installed
    found = check(parsed(TOGETHER[0]), {}, CheckOptions(points=n, order=2 if not n else 1))
    assert {(f.verdict, f.reason) for f in found.findings if f.method == "sympy"} == {
        ("skipped", "SymPy isn't installed")
    }
    assert {f.verdict for f in found.findings if f.method != "sympy"} == {"agree"}
