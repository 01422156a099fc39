"""Lists and small arrays in regions against the interpreter: the same bits, or the reason why there
is none."""

from __future__ import annotations

import pytest

from .array_programs import HEAD, PROGRAMS, REASONS, STEPS_BACK, ArrayWriter
from .region_cases import compare, lowered


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_programs(source: str) -> None:
    assert compare(HEAD + source) == "same"


@pytest.mark.parametrize(("source", "code"), STEPS_BACK.items())
def test_what_is_out_of_the_ordinary_steps_back(source: str, code: str) -> None:
    assert compare(HEAD + source) == code


@pytest.mark.parametrize(("source", "wanted"), REASONS.items())
def test_what_is_in_no_region_says_why(source: str, wanted: str) -> None:
    found = lowered(HEAD + source)
    assert wanted in [reason.reason for reason in found.reasons]
    assert found.results == {}


@pytest.mark.parametrize("seed", range(100))
def test_random_programs(seed: int) -> None:
    compare(ArrayWriter(seed).program())


def test_random_programs_are_regions() -> None:
    outcomes = [compare(ArrayWriter(seed).program()) for seed in range(50)]
    assert outcomes.count("same") > 25


HARD = [
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.5",
    "2.5",
    "-2.5",
    "3.0",
    "1e-3",
    "7.25",
    "inf",
    "-inf",
    "nan",
    "5e-324",
    "1e308",
    "-1e308",
    "2e15",
]
INFIX = ["+", "-", "*", "/", "//", "%", "==", "<", ">="]
FUNCTIONS = {
    1: [
        "abs",
        "square",
        "sqrt",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "round",
        "relu",
        "isnan",
        "isfinite",
        "-",
    ],
    2: ["maximum", "minimum", "fmod", "leaky_relu", "logical_and", "logical_or"],
}


@pytest.mark.parametrize("shift", range(0, len(HARD), 4))
def test_ops_on_hard_values(shift: int) -> None:
    """What an array gets, element by element, is what the interpreter computes on the whole."""
    a, b = ", ".join(HARD), ", ".join(HARD[shift:] + HARD[:shift])
    found = [f"a {op} b" for op in INFIX]
    found += [f"{function}(a)" for function in FUNCTIONS[1]]
    found += [f"{function}(a, b)" for function in FUNCTIONS[2]]
    found += ["where(a > b, a, b)", "clip(a, b, 2.0)", "sum(a[:10] + b[:10])"]
    assert compare(f"a = array([{a}])\nb = array([{b}])\noutput {', '.join(found)}\n") == "same"
