"""Colourings: rows and columns of one colour can share a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradcli.engine.jacobian.colouring import colours, distinct, star, transposed
from gradcli.engine.jacobian.patterns import Pattern, merged, unrepeated

matrices = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30).map(
        lambda pairs: (n, pairs)
    )
)


def pattern_of(n: int, pairs: Any) -> Pattern:
    rows, columns = (np.array([pair[k] for pair in pairs], int) for k in (0, 1))
    return merged(rows, columns, n, n)


@given(matrices)
def test_rows_of_a_colour_have_no_column_in_common(
    matrix: tuple[int, list[tuple[int, int]]],
) -> None:
    n, pairs = matrix
    pattern = pattern_of(n, pairs)
    found = distinct(pattern, n)
    for column in range(n):
        taken = [found[row] for row in range(n) if column in pattern.row(row)]
        assert len(set(taken)) == len(taken)
    assert colours(found) <= n
    assert {(j, i) for i, j in pairs} == {
        (i, j) for i in range(n) for j in transposed(pattern, n).row(i)
    }


@given(matrices)
def test_star_colourings_tell_entries_apart(matrix: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = matrix
    whole = {*pairs, *((j, i) for i, j in pairs), *((i, i) for i in range(n))}
    found, several = star(pattern_of(n, sorted(whole)))
    for i, j in whole - {(i, i) for i in range(n)}:
        assert found[i] != found[j]
        alone = [
            sum((k, b) in whole and found[k] == found[a] for k in range(n)) == 1
            for a, b in ((i, j), (j, i))
        ]
        assert any(alone)
        assert alone[0] == (not several[j] >> found[i] & 1)


@given(st.lists(st.integers(-5, 5)))
def test_numbers_without_repetitions(numbers: list[int]) -> None:
    assert unrepeated(np.array(numbers, int)).tolist() == sorted(set(numbers))
