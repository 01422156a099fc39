"""All ways to run a program give the same: a sample of the campaign, of programs of the whole
language."""

from __future__ import annotations

from collections import Counter

import pytest

from .running import compared

FIRST, PROGRAMS = 0, 32
DIFFERED = (  # once
    112, 11168, 20347, 41199, 300027, 300784, 301080, 301823, 301850, 302106, 302630, 302878,
    303822, 304370, 400065,
    400083, 400128, 400876, 401018, 401529, 705405, 706887, 707440,
)  # fmt: skip


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, 8))
@pytest.mark.parametrize("wide", [False, True], ids=["numbers", "all kinds"])
def test_all_ways_to_run_a_program_agree(first: int, wide: bool) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 8):
        for found in compared(seed, counts, wide):
            raise AssertionError(
                f"seed {seed}, {found.way}, row {found.point}: {found.what}\n{found.text}"
            )
    assert counts["rows"] > counts["rows with an error"] * 2


@pytest.mark.parametrize("seed", DIFFERED)
def test_programs_that_differed_agree(seed: int) -> None:
    assert [found.what for found in compared(seed, Counter())] == []
