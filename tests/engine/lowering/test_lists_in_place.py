"""Entries of lists are written in place, unless the list has another name, which sees no change."""

from __future__ import annotations

from typing import Any

import pytest

import gradcli
from gradcli.engine.backends.tiers import INTERPRETED, only
from gradcli.engine.values.kinds import List

# What a program does, its outputs, and how many of its writes copy a list.
CASES: dict[str, tuple[str, Any, int]] = {
    "no alias": ("a = [i for i in range(4)]\na[0] = 7\na[3] = 8\noutput a", [7, 1, 2, 8], 0),
    "another name": ("a = [1, 2]\nb = a\na[0] = 7\na[1] = 8\noutput [a, b]", [[7, 8], [1, 2]], 1),
    "a longer list": ("a = [1, 2]\nc = append(a, 3)\na[0] = 7\noutput [a, c]", [[7, 2], [1, 2, 3]], 1),
    "a shorter list": ("a = [1, 2]\nc = append(a, 3)\nc[0] = 7\noutput [a, c]", [[1, 2], [7, 2, 3]], 1),
    "an item by another name": (
        "a = [[i, 2] for i in range(2)]\nd = a[1]\na[1][0] = 7\na[1][1] = 8\noutput [a, d]",
        [[[0, 2], [7, 8]], [1, 2]], 1),
    "one item twice": ("g = [1, 2]\nq = [g, g]\ng = 0\nq[0][0] = 7\noutput q", [[7, 2], [1, 2]], 1),
    "items of items": (
        "a = [[j for j in range(2)] for i in range(2)]\nfor i in range(2) { a[i][1] = 5 + i }\noutput a",
        [[0, 5], [0, 6]], 0),
    "a parameter": (
        "fn f(l) { l[0] = 7; l[1] = 8; return l }\na = [i for i in range(2)]\noutput [f(a), a]",
        [[7, 8], [0, 1]], 1),
    "what a loop goes over": (
        "a = [i for i in range(3)]\ns = 0\nfor x in a { a[2] = 9; s += x }\noutput [s, a]",
        [3, [0, 1, 9]], 0),
    "the list itself": ("a = [i for i in range(2)]\na[0] = a\noutput a", [[0, 1], 1], 1),
    "a constant": ("fn f() { l = [1, 2]; l[0] += 1; return l }\noutput [f(), f()]", [[2, 2], [2, 2]], 0),
    "in a dict": ("d = {l: [i for i in range(2)]}\ne = d\nd.l[0] = 7\noutput [d.l, e.l]", [[7, 1], [0, 1]], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_other_names_hold_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, wanted, copies = CASES[name]
    ways: list[bool] = []
    replace = List.replace

    def noted(self: List, index: int, value: Any, in_place: bool = False) -> List:
        ways.append(in_place)
        return replace(self, index, value, in_place)

    monkeypatch.setattr(List, "replace", noted)
    with only(INTERPRETED):
        (found,) = gradcli.load(source=source).run().outputs.values()
    assert found == wanted
    assert ways.count(False) == copies
