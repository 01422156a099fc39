"""Paths that surely fail, such as one that reads an item of an empty list: a region steps back
where one is taken, and has all others."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import NATIVE, WRITTEN

from ..kernels.hot_and_cold import assert_same_in
from .region_cases import compare

HEAD = "var x = 0.5\nvar n = 3.0\nl = [x]\ns = 0.0\n"
SHIFTED = "fn f(l, k) { if k < 1 { return l[0] }; return f([v * x for v in l[1:]], k - 1) }\n"
ENDLESS = (
    "fn f(l, k) { if len(l) == 0 { return f(l, k) }; if k < 1 { return l[0] }; return f(l[1:], k - 1) }\n"
    "l = [1.0, 2.0, 3.0, 4.0, 5.0, x]\n"
)
PROGRAMS = {
    "a recursion through the items": SHIFTED + "s = f([1.0, 2.0, x, 4.0], n)",
    "a recursion without end": ENDLESS + "s = f(l, n + 2)",
    "an index": "s = l[0] if x < 1 else l[1]",
    "on both sides": "if x > 1 { if n > 2 { s = l[1] } else { s = l[2] } }",
    "in a condition": "s = 1.0 if x > 1 and l[-2] > n else x",
    "a change": "if x > 1 { l[1] = n }\ns = l[0]",
    "all iterations": "m = l[1:]\nfor i in range(4) { if x > 1 { for j in range(i) { s += m[0] } }; s += x * i }",
    "some iterations": "for i in range(400) { if i * x > 1000 { s = l[1] }; s += x * i }",
    "an iteration of few": "for i in range(3) { if i * x > 10 { break }; if x > 1 { s += l[i + 1] }; s += x }",
    "unpacked": "fn f(l) { if len(l) > x { return l[0] * n }; a, b = l; return a }\ns = f(l) + f([x, n])",
    "a key": "d = {a: x}\ns = d.a if x < 1 else d.b",
}  # fmt: skip
TAKEN = {
    "a recursion through the items": (SHIFTED + "s = f([x, 2.0], n)", "E303"),
    "a recursion without end": (ENDLESS + "s = f(l, 2 * n)", "E406"),
    "an index": ("s = l[0] if x > 1 else l[1]", "E303"),
    "on both sides": ("if x < 1 { if n > 2 { s = l[1] } else { s = l[2] } }", "E303"),
    "all iterations": ("for i in range(4) { if x < 1 { for j in range(i) { s += l[1] } } }", "E303"),
    "unpacked": ("fn f(l) { if x > 1 { return x }; a, b = l; return a }\ns = f(l)", "E315"),
    "a key": ("d = {a: x}\ns = d.b if x < 1 else d.a", "E309"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_path_that_is_not_taken(name: str) -> None:
    source = f"{HEAD}{PROGRAMS[name]}\noutput s"
    assert compare(source) == "same"
    for tier in (WRITTEN, NATIVE):
        assert_same_in(tier, source)


@pytest.mark.parametrize("name", TAKEN)
def test_a_path_that_is_taken(name: str) -> None:
    program, code = TAKEN[name]
    assert compare(f"{HEAD}{program}\noutput s") == code
