"""Regions against the interpreter: the same bits, or the reason why there is none."""

from __future__ import annotations

import pytest

from .region_cases import HEAD, PROGRAMS, STEPS_BACK, compare, lowered
from .region_programs import Writer


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_regions_give_the_bits_of_the_interpreter(source: str) -> None:
    assert compare(HEAD + source) == "same"


@pytest.mark.parametrize(("source", "code"), STEPS_BACK.items())
def test_what_is_out_of_the_ordinary_steps_back(source: str, code: str) -> None:
    assert compare(HEAD + source) == code


REASONS = {
    "print x": (3, "`print` is not compiled"),
    "k = 0\nfor i in range(3) { k = [k] }\noutput k": (4, "a name changes its kind in this loop"),
    "a = 1\nif x > 1 { a = [x] }\noutput a": (
        4,
        "what the paths hold that meet here is of different kinds",
    ),
    "v = [x, x, x, x, x, x, x, x, x, x, x, x]\ns = 0.0\n"
    "for a in v { for b in v { for c in v { for d in v { s += a } } } }\noutput s": (
        5,
        "this makes the region too large",
    ),
    "output sin": (3, "this output is no number, and no list of these"),
    "fn f(a) { return a } backward (dy) { return dy }\noutput f(x)": (
        4,
        "a function with a rule of its own is not compiled",
    ),
    "output grad(x**2, x)": (3, "`grad` is not compiled"),
    "output n ** n": (3, "an int to a power that isn't known is not compiled"),
    "z = 1j\noutput z": (3, "complex numbers are not compiled"),
    "x := 2.0\noutput x": (3, "`:=` is not compiled"),
    "fn f() { x := 2.0; return x }\na = f()\noutput x": (
        1,
        "functions may update this variable with `:=`",
    ),
    "output argsort([x, 2.0])": (3, "`argsort` is not compiled"),
}


@pytest.mark.parametrize(("source", "wanted"), REASONS.items())
def test_what_is_in_no_region_says_why(source: str, wanted: tuple[int, str]) -> None:
    reasons = lowered(HEAD + source).reasons
    assert wanted in [(r.span.line, r.reason) for r in reasons if r.span is not None]
    assert lowered(HEAD + source).results == {}


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed: int) -> None:
    compare(Writer(seed).program())


def test_random_programs_are_regions() -> None:
    """Most of them are compiled, so that they are compared at all."""
    outcomes = [compare(Writer(seed).program()) for seed in range(100)]
    assert outcomes.count("same") > 30
