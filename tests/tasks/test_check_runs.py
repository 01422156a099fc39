"""What the second run of a check keeps, and when it may end."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import Source
from gradcli.engine.replay.value_trace import PATIENCE, ValueTrace
from gradcli.tasks.check.point import Point
from gradcli.tasks.check.program import Program
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program


def point(text: str) -> Point:
    return Point(Program(parse_program(Source("<test>", text)), Options(mode="reverse")), {})


def trace(text: str) -> ValueTrace:
    found = point(text).kept[0].trace
    assert isinstance(found, ValueTrace)
    return found


def test_a_run_for_its_sweeps_ends_when_it_has_had_them() -> None:
    run, sweeps = point(
        "fn f(t) = t**2; s = 0.0; for k in range(400) { s = s + grad(f)(1.0 * k) }; output s"
    ).sweeps()
    assert len(sweeps) == 2
    assert run.steps <= 4 * (PATIENCE + 4)


def test_a_run_for_values_goes_to_its_end() -> None:
    found = trace(
        "var x = 0.5; s = 0.0; for k in range(400) { s = s + grad(x**2, x) }; output y = s * x"
    )
    assert len(found.sweeps) == 2
    assert found.number > 400


@pytest.mark.parametrize(("turns", "along_the_trace"), [(10, False), (300, True), (2000, True)])
def test_forward_mode_goes_along_the_trace_where_runs_take_long_in_all(
    turns: int, along_the_trace: bool
) -> None:
    text = f"s = 1.0; for i in range({turns}) {{ s = s*0.99 + 0.01*x[0]*sin(x[1]) }}; y = s + x[2]*x[3]*x[4]*x[5]"
    found = point(f"var x = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]; {text}; output y")
    case, direction = found.cases[0], found.directions[0]
    assert found.is_long_in_all is along_the_trace
    assert case.carried(direction) == pytest.approx(case.tangent(direction), rel=1e-13)
    assert case.along(direction)[0] == pytest.approx(case.tangent(direction), rel=1e-13)


def test_states_that_are_not_kept_come_out_as_in_any_run() -> None:
    text = "var x = ones(3); frozen m = zeros(3); for t in range(100) { g = grad(sum(x**2), x); m := 0.9*m + 0.1*g; x :-= 0.1*m }"
    found = point(f"{text}; y = sum(m*m) + sum(x); output y")
    assert found.cases[0].value == float(found.kept[1].targets["y"][0])
