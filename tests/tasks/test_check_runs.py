"""What the second run of a check keeps, and when it may end."""

from __future__ import annotations

import pytest

from gradcli.diagnostics import Source
from gradcli.engine.history import PATIENCE, ValueTrace
from gradcli.tasks.check.point import Point, Program
from gradcli.tasks.evaluation import Options
from gradcli.tasks.programs import parse_program


def point(text: str) -> Point:
    return Point(Program(parse_program(Source("<test>", text)), Options(mode="reverse")), {})


def trace(text: str) -> ValueTrace:
    found = point(text).kept[0].trace
    assert isinstance(found, ValueTrace)
    return found


@pytest.mark.parametrize(
    ("update", "passed", "recorded"),
    [
        ("s := 0.9 * s + x**2", 3, 0),
        ("s :-= 0.5 * x", 2, 0),
        ("s := f(x) + 1.0", 0, 2),  # a function may do more
        ("s :+= grad(x**3, x)", 0, 2),  # and the sweep is one that was asked for
        ("s := sum([x, x])", 0, 2),
    ],
)
def test_what_only_a_state_is_made_of_is_not_recorded(update: str, passed: int, recorded: int) -> None:
    found = trace(f"fn f(t) = t * t; var x = 2.0; frozen s = 1.0; {update}; output y = x + s")
    assert (found.passed, found.number) == (passed, recorded + 1)
    assert found.work >= passed + recorded + 1
    assert found.updated
    assert len(found.sweeps) == update.count("grad")


def test_a_run_for_its_sweeps_ends_when_it_has_had_them() -> None:
    run, sweeps = point("fn f(t) = t**2; s = 0.0; for k in range(400) { s = s + grad(f)(1.0 * k) }; output s").sweeps()
    assert len(sweeps) == 2
    assert run.steps <= 4 * (PATIENCE + 4)


def test_a_run_for_values_goes_to_its_end() -> None:
    found = trace("var x = 0.5; s = 0.0; for k in range(400) { s = s + grad(x**2, x) }; output y = s * x")
    assert len(found.sweeps) == 2
    assert found.number > 400
