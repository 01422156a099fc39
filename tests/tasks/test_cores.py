"""How many processes are worth it."""

from __future__ import annotations

from gradcli.tasks.each import cores


def test_there_is_a_core() -> None:
    assert cores() >= 1
