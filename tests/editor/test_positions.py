"""Offsets, and lines and columns as editors count them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcli.editor.positions import Position, Positions

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text(st.sampled_from("ab é𝛼\n\r\t\x0b\u2028"), max_size=30)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS)
def test_there_and_back(encoding: Any, text: str) -> None:
    positions = Positions(text, encoding)
    inside = [k for k in range(len(text) + 1) if text[k - 1 : k + 1] != "\r\n"]
    for offset in inside:
        assert positions.offset(positions.position(offset)) == offset
    found = [positions.position(offset) for offset in inside]
    assert found == sorted(found)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_columns(encoding: Any, column: int) -> None:
    assert Positions("a\r\n𝛼 = 1", encoding).position(4) == Position(1, column)


def test_lines_end_where_the_protocol_says() -> None:
    positions = Positions("a\u2028b\x0cc\rd\r\ne\n")
    assert positions.position(5) == Position(0, 5)
    assert positions.position(6) == Position(1, 0)
    assert positions.offset(Position(2, 0)) == 9


def test_positions_behind_an_end() -> None:
    positions = Positions("ab\ncé\n")
    assert positions.offset(Position(0, 99)) == 2
    assert positions.offset(Position(1, 99)) == 5
    assert positions.offset(Position(99, 0)) == 6
    assert Positions("").offset(Position(0, 3)) == 0
