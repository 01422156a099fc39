"""What is compiled of arrays, at its edges: empty arrays, other dtypes, aliases, indices out of
range, lists that become longer. Machine code gives what the interpreter gives, or its message."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import FIRST_USE, INTERPRETED, NATIVE, only

from ..kernels.hot_and_cold import answer, assert_same
from .array_loops import HEAD, PROGRAMS


@pytest.mark.parametrize("source", PROGRAMS)
def test_the_tiers_agree(source: str) -> None:
    with only(INTERPRETED):
        expected = answer(HEAD + source, mode="reverse")
    with only(NATIVE, FIRST_USE):
        assert_same(answer(HEAD + source, mode="reverse"), expected)
