"""Differences are held against the derivatives beside: right ones are confirmed however large steps
were, wrong ones are not."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gradcli.diagnostics import Source
from gradcli.tasks.check.checking import check
from gradcli.tasks.check.differences import Samples, extrapolated
from gradcli.tasks.check.mean_value import (
    CONFIRMED,
    CONTRADICTED,
    UNRESOLVED,
    finest_level,
    held_against,
    over,
)
from gradcli.tasks.check.results import CheckOptions
from gradcli.tasks.programs import parse_program

AT = 1.4
Function = Callable[[float], float]

# A function and its derivative. The first step is AT / 20, and more than a period, a tooth or a
# stair each time.
FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "waves": (lambda x: x + 1e-10 * math.sin(4e7 * x), lambda x: 1.0 + 4e-3 * math.cos(4e7 * x)),
    "teeth": (lambda x: (3e3 * x) % 0.77, lambda x: 3e3),
    "stairs": (lambda x: x * math.floor(5e3 * x + 0.5), lambda x: math.floor(5e3 * x + 0.5)),
    "smooth": (lambda x: math.sin(x) * x, lambda x: math.cos(x) * x + math.sin(x)),
}


def said(function: Function, slope: Function, ours: float, gap: float) -> str:
    samples = Samples(lambda h: function(AT + h), function(AT), AT / 20, 2.0**-52)
    return held_against(samples, finest_level(samples, gap), lambda h: slope(AT + h), ours, gap)


@pytest.mark.parametrize("name", ["waves", "teeth", "stairs"])
def test_steps_that_are_too_large_settle_on_something_else(name: str) -> None:
    function, slope = FUNCTIONS[name]
    found = extrapolated(Samples(lambda h: function(AT + h), function(AT), AT / 20, 2.0**-52))
    gap = abs(found.value - slope(AT))
    assert gap > 10 * found.error
    assert said(function, slope, slope(AT), gap) == CONFIRMED


@pytest.mark.parametrize("wrong", [1.5, 0.999, 1.0 + 4e-9])
def test_a_wrong_rule_is_contradicted(wrong: float) -> None:
    function, slope = FUNCTIONS["smooth"]
    gap = abs(wrong - 1.0) * slope(AT)
    assert said(function, slope, slope(AT), gap) == CONFIRMED
    assert said(function, lambda x: wrong * slope(x), wrong * slope(AT), gap) == CONTRADICTED
    assert (
        said(function, slope, wrong * slope(AT), gap) == CONTRADICTED
    )  # wrong at this point alone


def test_where_no_step_resolves_the_derivative_nothing_is_told() -> None:
    assert said(math.sin, lambda x: math.cos(1e12 * x), 1.0, 0.5) == UNRESOLVED
    assert said(math.sin, lambda x: math.nan, 1.0, 0.5) == UNRESOLVED
    assert said(abs, lambda x: math.copysign(1.0, x - AT), 0.0, 0.5) == UNRESOLVED  # a kink


@pytest.mark.parametrize("distance", [1e-9, 1e-10, 1e-11])
def test_a_pole_is_no_contradiction(distance: float) -> None:
    """It is narrower than the usual steps; what a finer one finds out, is told by that."""
    function, slope = lambda x: 1.0 / (x - AT + distance), lambda x: -1.0 / (x - AT + distance) ** 2
    assert said(function, slope, slope(AT), -slope(AT)) in (UNRESOLVED, CONFIRMED)


def test_a_derivative_over_an_interval() -> None:
    found = over(lambda h: 1.0 + h + 3.0 * h * h, 0.5)
    assert found.mean == pytest.approx(1.25, rel=1e-14)
    assert found.middle == pytest.approx(1.0, rel=1e-14)
    assert found.roughness < 1e-14


# ---- through the whole of `check` ----------------------------------------------------------------

NEARLY_SINGULAR = """var x = -0.4200644045868649
var y = 1.5064137298686657
s = [[1.0 + 1e-6 * tanh(clip(x, -0.7, 0.8)), 1.0, 0.0], [1.0, 1.00002, tanh(expm1(0.2 * sin(x))) * 1e-6],
     [0.0, tanh(acos(0.9 * cos(y))), 4.0]]
v = [clip(y, -0.7, 0.8), clip(y, -0.7, 0.8), -1.61]
q = x + y + trace(inv(s)) + 0.1 * (sum(lstsq(s, v)**2))"""

TOO_LARGE = {  # where differences disagreed with a gradient that is right
    "var x = 1.4\nq = x + 1e-10 * sin(4e7 * x)": "verified",
    "var x = 1.4\nq = x + 1e-10 * sin(4e10 * x)": "undecided",
    "var x = 0.3901\nq = x + (3e3 * x) % 0.9": "verified",
    "var x = 1.4\nq = x + 0.1 * sinc(sum(lstsq([[1.0, 1.0], [1.0, 1.00002 + 1e-6 * tanh(x)]], [x, x**2])**2))": "undecided",
    NEARLY_SINGULAR: "verified",
    # Stairs that are narrower than the steps which rounding errors of 1e5 leave room for.
    "var x = 0.1003\nq = x + 0.1 * trunc(3.0 * x**-2.5) + ((x + 1e13) - 1e13)": "undecided",
    "var x = 0.1003\nq = x + (3e3 * x) % 0.9 + ((x + 1e12) - 1e12)": "undecided",
    "var x = 0.1003\nif floor(3e3 * x) % 2 == 0 { y = x } else { y = 3.0 }\n"
    "q = y + ((x + 1e12) - 1e12)": "undecided",
    # Few numbers lie between the steps.
    "var x = 1e300\nq = cos(x)": "undecided",
    **{f"var x = {1.0 + 10.0**-k!r}\nq = zeta(x)": "undecided" for k in (8, 10, 12)},
}


@pytest.mark.parametrize("text", TOO_LARGE)
def test_too_large_steps_are_no_disagreement(text: str) -> None:
    options = CheckOptions(methods=("differences", "taylor"))
    found = check(parse_program(Source("<test>", f"{text}\noutput q")), {}, options)
    assert {result.verdict for result in found.results} == {TOO_LARGE[text]}
    assert found.blamed == []
