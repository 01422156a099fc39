"""Ten thousand small programs of the whole language, in all tiers and modes: numbers, messages and
exit codes are those of the interpreter."""

from __future__ import annotations

from collections import Counter

import pytest

from .small_ways import WAYS, compared, differences

PROGRAMS, AT_A_TIME = 10_000, 250


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_A_TIME))
def test_all_tiers_and_modes_agree(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + AT_A_TIME):
        for differed in compared(seed, counts):
            raise AssertionError(
                f"{differed.way.name}: {differed.what}\n"
                f"`python -m tests.engine.campaign --reduce {seed}` makes it small:\n{differed.text}"
            )
    assert counts["programs that can't be read"] < AT_A_TIME / 10
    assert counts["runs that end with an error"] < AT_A_TIME / 2
    for way in WAYS:
        assert counts[way.name] > AT_A_TIME / way.one_of / 100


DIFFERED = {  # once
    "a name of a variable, which the right operand updates": "frozen c = 1\n"
    "fn g(b) { c := 0; return 1 }\nf = c\noutput f + g(1)",
    "a derivative in a branch that isn't taken, of a loop before it": "var x = 4.25\nvar w = 2.0\n"
    "f = w - w\nk = 0\nwhile abs(f) < 9 and k < 6 { k += 1; f = square(x) }\n"
    "if k > 7 { g = grad(w * f, x, seed = f) }\noutput f",
}


@pytest.mark.parametrize("text", DIFFERED.values(), ids=DIFFERED.keys())
def test_what_differed_agrees(text: str) -> None:
    assert [(way.name, what) for way, what in differences(text, WAYS, Counter())] == []
